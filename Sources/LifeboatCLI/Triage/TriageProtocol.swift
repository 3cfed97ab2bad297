import AgeFiles
import Foundation
import SQLCipherFiles
import StoreTriage

/// What a worker is told before its first input: a record of JSON, ended by a zero byte, like every request after it.
struct TriageSetup: Codable {
  /// Secret keys, as texts. They go through the pipe, so that no command line and no environment shows them.
  var identities: [String] = []
  var passphrase: [UInt8]?
  /// The key of stores that SQLCipher encrypts.
  var key: CipherKey?
  var options = TriageReader.Options()
  /// A folder of analysers beside those that ship.
  var analysers: String?
  /// Whether each line says how long its input took.
  var isTimed = false
  /// Seconds that an input may take.
  var timeout = 60
  /// Bytes of memory that a worker may use.
  var maxMemory: Int64 = 1 << 30

  var secrets: AgeSecrets {
    get throws {
      var secrets = AgeSecrets()
      secrets.identities = try identities.map { try AgeIdentity($0) }
      secrets.passphrase = passphrase
      return secrets
    }
  }
}

/// An input as a worker is asked for it: whether it was met in a folder, what is known of it, and its path.
struct TriageRequest: Equatable {
  var isFound: Bool
  /// The identity of the files when they were read last; nil for none.
  var known: String?
  var path: [UInt8]

  private static let identityBytes = 32
  private static let named = UInt8(ascii: "=")
  private static let found = UInt8(ascii: "?")

  init(path: [UInt8], isFound: Bool, known: String?) {
    self.path = path
    self.isFound = isFound
    self.known = known
  }

  /// With the zero byte that ends it; no path has one.
  var bytes: [UInt8] {
    let identity = known.map { Array($0.utf8) } ?? []
    let field =
      identity.count == Self.identityBytes
      ? identity : [UInt8](repeating: UInt8(ascii: "-"), count: Self.identityBytes)
    return [isFound ? Self.found : Self.named] + field + path + [0]
  }

  /// Reads a request without its zero byte; nil for anything else.
  init?(_ bytes: [UInt8]) {
    guard bytes.count > Self.identityBytes, bytes[0] == Self.found || bytes[0] == Self.named else {
      return nil
    }
    isFound = bytes[0] == Self.found
    let field = bytes[1...Self.identityBytes]
    known =
      field.first == UInt8(ascii: "-") ? nil : String(decoding: field, as: UTF8.self)
    path = Array(bytes[(Self.identityBytes + 1)...])
  }
}

/// What a worker answers: a line of text that begins with a letter.
enum TriageAnswer {
  /// A line, and the identity of its files.
  case line([UInt8], identity: String?)
  /// The lines of an archive with several stores.
  case lines([[UInt8]])
  /// What a folder holds.
  case inputs([Item])
  /// The files are those that are known.
  case known
  /// Nothing to be told.
  case nothing

  /// An input of a folder.
  struct Item: Codable {
    var path: String?
    var line: TriageLine?
  }

  private static let noIdentity = String(repeating: "-", count: 32)

  /// Lines as one: JSON has no tab of its own.
  static func joined(_ lines: [[UInt8]]) -> [UInt8] { Array(lines.joined(separator: [0x09])) }

  /// The lines that ``joined(_:)`` took.
  static func separated(_ bytes: ArraySlice<UInt8>) -> [[UInt8]] {
    bytes.isEmpty
      ? [] : bytes.split(separator: 0x09, omittingEmptySubsequences: false).map(Array.init)
  }

  /// With its line end.
  var bytes: [UInt8] {
    get throws {
      switch self {
      case .line(let json, let identity):
        return Array("L".utf8) + Array((identity ?? Self.noIdentity).utf8) + json + [0x0a]
      case .lines(let lines): return Array("M".utf8) + Self.joined(lines) + [0x0a]
      case .inputs(let items):
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array("E".utf8) + Array(try encoder.encode(items)) + [0x0a]
      case .known: return Array("K\n".utf8)
      case .nothing: return Array("N\n".utf8)
      }
    }
  }

  /// Reads an answer without its line end; nil for anything else, as from a worker that was ended while it wrote.
  init?(_ bytes: ArraySlice<UInt8>) {
    switch bytes.first {
    case UInt8(ascii: "L"):
      let rest = bytes.dropFirst()
      guard rest.count > 34 else { return nil }
      let field = String(decoding: rest.prefix(32), as: UTF8.self)
      self = .line(Array(rest.dropFirst(32)), identity: field == Self.noIdentity ? nil : field)
    case UInt8(ascii: "M"): self = .lines(Self.separated(bytes.dropFirst()))
    case UInt8(ascii: "E"):
      guard let items = try? JSONDecoder().decode([Item].self, from: Data(bytes.dropFirst())) else {
        return nil
      }
      self = .inputs(items)
    case UInt8(ascii: "K"): self = .known
    case UInt8(ascii: "N"): self = .nothing
    default: return nil
    }
  }
}
