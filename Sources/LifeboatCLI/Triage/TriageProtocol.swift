import AgeFiles
import Foundation
import SQLCipherFiles
import StoreTriage

/// The settings that a worker receives before the first request. They are sent as JSON, followed by a zero byte.
struct TriageSetup: Codable {
  /// The secret keys, in the format of age(1), that open encrypted inputs. They are sent through a pipe, because other
  /// processes could see a command line or the environment.
  var identities: [String] = []
  var passphrase: [UInt8]?
  /// The key of stores that are encrypted by SQLCipher; nil when the user has given none.
  var key: CipherKey?
  var options = TriageReader.Options()
  /// The path of a folder with additional analysers; nil for only the built-in analysers.
  var analysers: String?
  /// The digest of all analysers. It is part of the run's identity, so that a journal made with other analysers is
  /// refused.
  var analysersDigest = ""
  /// Whether each line records the number of seconds that its input took.
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

/// A request to a worker to read the input at ``path``. `isFound` is true if the input was found in a folder.
struct TriageRequest: Equatable {
  var isFound: Bool
  /// The identity that the input's files had when they were last read; nil if no identity is recorded.
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

  /// The request as bytes. A zero byte ends the request, because no path contains a zero byte.
  var bytes: [UInt8] {
    let identity = known.map { Array($0.utf8) } ?? []
    let field =
      identity.count == Self.identityBytes
      ? identity : [UInt8](repeating: UInt8(ascii: "-"), count: Self.identityBytes)
    return [isFound ? Self.found : Self.named] + field + path + [0]
  }

  /// Decodes a request from bytes without the zero byte at the end. Nil for bytes that are not a request.
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

/// A worker's answer. It is sent as a line of text whose first letter is the kind of answer.
enum TriageAnswer {
  case result(TriageOrder.Result)
  /// The input is unchanged: its files have the identity that the request names. The worker has not read the input.
  case known

  private static let noIdentity = String(repeating: "-", count: 32)

  /// Joins lines of JSON with tabs. The lines themselves contain no tabs, because JSON escapes them.
  static func joined(_ lines: [[UInt8]]) -> [UInt8] { Array(lines.joined(separator: [0x09])) }

  /// Splits bytes that ``joined(_:)`` has returned into the lines.
  static func separated(_ bytes: ArraySlice<UInt8>) -> [[UInt8]] {
    bytes.isEmpty
      ? [] : bytes.split(separator: 0x09, omittingEmptySubsequences: false).map(Array.init)
  }

  /// The encoded answer that is sent to the parent process, including the line end.
  var bytes: [UInt8] {
    get throws {
      switch self {
      case .result(.line(let json, let identity)):
        return Array("L".utf8) + Array((identity ?? Self.noIdentity).utf8) + json + [0x0a]
      case .result(.lines(let lines)): return Array("M".utf8) + Self.joined(lines) + [0x0a]
      case .result(.inputs(let items)):
        return Array("E".utf8) + Array(try JSONText.data(items)) + [0x0a]
      case .result(.nothing): return Array("N\n".utf8)
      case .known: return Array("K\n".utf8)
      }
    }
  }

  /// Decodes an answer from bytes without the line end. Nil for bytes that are not an answer, for example because the
  /// worker was killed while it wrote the answer.
  init?(_ bytes: ArraySlice<UInt8>) {
    switch bytes.first {
    case UInt8(ascii: "L"):
      let rest = bytes.dropFirst()
      guard rest.count > 34 else { return nil }
      let field = String(decoding: rest.prefix(32), as: UTF8.self)
      let identity = field == Self.noIdentity ? nil : field
      self = .result(.line(Array(rest.dropFirst(32)), identity: identity))
    case UInt8(ascii: "M"): self = .result(.lines(Self.separated(bytes.dropFirst())))
    case UInt8(ascii: "E"):
      let json = Data(bytes.dropFirst())
      guard let items = try? JSONDecoder().decode([TriageReader.Item].self, from: json) else {
        return nil
      }
      self = .result(.inputs(items))
    case UInt8(ascii: "N"): self = .result(.nothing)
    case UInt8(ascii: "K"): self = .known
    default: return nil
    }
  }
}
