import AgeFiles
import Foundation
import SQLCipherFiles
import StoreTriage

/// What a worker receives before its first input: a JSON record that ends with a zero byte. Every later request ends
/// with a zero byte too.
struct TriageSetup: Codable {
  /// Secret keys of age, as texts. They go through the pipe, so that they are on no command line and in no environment.
  var identities: [String] = []
  var passphrase: [UInt8]?
  /// The key of stores that SQLCipher encrypts; nil for none.
  var key: CipherKey?
  var options = TriageReader.Options()
  /// The path of a folder of analysers that are used beside the built-in ones; nil for none.
  var analysers: String?
  /// The digest of all analysers. A journal that was made with other analysers belongs to another run.
  var analysersDigest = ""
  /// Whether each line records how many seconds its input took.
  var isTimed = false
  /// The maximum number of seconds for one input.
  var timeout = 60
  /// The maximum memory of a worker, in bytes.
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

/// A request to a worker: the path of an input, whether it was met in a folder, and the known identity of its files.
struct TriageRequest: Equatable {
  var isFound: Bool
  /// The identity that the files had when they were read last; nil when none is known.
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

  /// The request as bytes, with the zero byte that ends it. No path contains a zero byte.
  var bytes: [UInt8] {
    let identity = known.map { Array($0.utf8) } ?? []
    let field =
      identity.count == Self.identityBytes
      ? identity : [UInt8](repeating: UInt8(ascii: "-"), count: Self.identityBytes)
    return [isFound ? Self.found : Self.named] + field + path + [0]
  }

  /// Reads a request that has lost its zero byte; nil for bytes that are not a request.
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

/// A worker's answer: a line of text whose first letter says what kind it is.
enum TriageAnswer {
  /// The line of an input, and the identity of its files; nil when they have none.
  case line([UInt8], identity: String?)
  /// The lines of an archive with several stores.
  case lines([[UInt8]])
  /// The inputs that a folder holds.
  case inputs([Item])
  /// The files of the input have the identity that the request gave.
  case known
  /// The path is not an input, so the output has no line for it.
  case nothing

  /// An input of a folder: a path to read, or the line of a file that is not read.
  struct Item: Codable {
    var path: String?
    var line: TriageLine?
  }

  private static let noIdentity = String(repeating: "-", count: 32)

  /// Joins lines with tabs. JSON escapes the tabs in its texts.
  static func joined(_ lines: [[UInt8]]) -> [UInt8] { Array(lines.joined(separator: [0x09])) }

  /// Splits what ``joined(_:)`` has joined.
  static func separated(_ bytes: ArraySlice<UInt8>) -> [[UInt8]] {
    bytes.isEmpty
      ? [] : bytes.split(separator: 0x09, omittingEmptySubsequences: false).map(Array.init)
  }

  /// The answer as bytes, with its line end.
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

  /// Reads an answer that has lost its line end; nil for anything else, such as the part that a killed worker has
  /// written.
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
