import CLibrary
import Foundation

/// Finds personal strings. E-mail addresses, telephone numbers and secret keys are recognized by their form. The name
/// of this machine, the name of its user and the path of the home folder are found as whole words.
struct PersonalTexts {
  /// The kind of a personal string. The raw value is used in error messages.
  enum Kind: String, Sendable, CaseIterable {
    case home = "the home folder"
    case user = "the name of the user"
    case host = "the name of the machine"
    case mail = "an e-mail address"
    case phone = "a telephone number"
    case key = "a key or token"
  }

  /// The name of this machine, the name of its user, and the path of the home folder. A name or path is left out if it
  /// is too short, or if it is a public word (``PublicWords/hold(_:)``).
  private var own: [(kind: Kind, text: [UInt8])] = []

  init(_ words: PublicWords) {
    self.init(home: NSHomeDirectory(), user: NSUserName(), host: Self.hostName, words)
  }

  /// The name of this machine, as `gethostname` returns it. Foundation is not asked, because it would look up the name
  /// on the network.
  private static var hostName: String {
    var bytes = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&bytes, bytes.count - 1) == 0 else { return "" }
    return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  init(home: String, user: String, host: String, _ words: PublicWords) {
    let machine = host.utf8.prefix { $0 != UInt8(ascii: ".") }
    for (kind, text, least) in [
      (Kind.home, Array(home.utf8), 6), (.user, Array(user.utf8), 3), (.host, Array(machine), 4),
    ] where text.count >= least && !words.hold(text) {
      own.append((kind, text))
    }
  }

  /// Returns the kinds of the personal strings in `bytes`, without duplicates.
  func kinds(in bytes: [UInt8]) -> [Kind] {
    var found = own.filter { Self.holds(bytes, $0.text) }.map(\.kind)
    if Self.hasMail(bytes) { found.append(.mail) }
    if Self.hasPhone(bytes) { found.append(.phone) }
    if Self.hasKey(bytes) { found.append(.key) }
    return found
  }

  /// Whether `bytes` contain `text` as whole words.
  private static func holds(_ bytes: [UInt8], _ text: [UInt8]) -> Bool {
    var place = 0
    while let start = bytes[place...].firstIndex(of: text[0]) {
      let end = start + text.count
      if end <= bytes.count, bytes[start..<end].elementsEqual(text),
        start == 0 || !joins(bytes[start - 1], text[0]),
        end == bytes.count || !joins(text[text.count - 1], bytes[end])
      {
        return true
      }
      place = start + 1
    }
    return false
  }

  private static func joins(_ one: UInt8, _ other: UInt8) -> Bool {
    PublicWords.isWord(one) && PublicWords.isWord(other)
  }

  // MARK: - Forms

  private static func isLetter(_ byte: UInt8) -> Bool {
    (0x61...0x7a).contains(byte | 0x20) && byte < 0x80
  }
  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
  private static func isHost(_ byte: UInt8) -> Bool {
    isLetter(byte) || isDigit(byte) || byte == UInt8(ascii: "-") || byte >= 0x80
  }

  /// The collection operators of key paths. A derived attribute may contain such a key path, for example
  /// `pages.@sum.words`, which looks like an e-mail address.
  private static let operators = ["average", "avg", "count", "max", "min", "sum", "total"]

  /// Whether the bytes contain an e-mail address, `name@host.tld`: at least one character before the `@`, and after it
  /// a host name with a dot and an ending of letters. A key path with an operator is not an address.
  private static func hasMail(_ bytes: [UInt8]) -> Bool {
    for (place, byte) in bytes.enumerated() where byte == UInt8(ascii: "@") {
      guard place > 0, isHost(bytes[place - 1]) || "._+".utf8.contains(bytes[place - 1]) else {
        continue
      }
      let host = bytes[(place + 1)...].prefix { isHost($0) || $0 == UInt8(ascii: ".") }
      let parts = host.split(separator: UInt8(ascii: "."))
      guard parts.count >= 2, let ending = parts.last, ending.count >= 2,
        ending.allSatisfy({ isLetter($0) || $0 >= 0x80 }),
        bytes[place - 1] != UInt8(ascii: ".")
          || !operators.contains(where: { parts[0].elementsEqual($0.utf8) })
      else { continue }
      return true
    }
    return false
  }

  /// Whether the bytes contain a telephone number: a plus and 8 to 15 digits (E.164). Spaces, dashes, dots, slashes and
  /// parentheses may be between the digits.
  private static func hasPhone(_ bytes: [UInt8]) -> Bool {
    for (place, byte) in bytes.enumerated() where byte == UInt8(ascii: "+") {
      if place > 0, PublicWords.isWord(bytes[place - 1]) || bytes[place - 1] == UInt8(ascii: "/") {
        continue
      }
      let number = bytes[(place + 1)...].prefix { isDigit($0) || " -.()/".utf8.contains($0) }
      let next = place + 1 + number.count
      guard number.first.map({ isDigit($0) || $0 == UInt8(ascii: "(") }) ?? false,
        (8...15).contains(number.count(where: isDigit)),
        next == bytes.count || !PublicWords.isWord(bytes[next])
      else { continue }
      return true
    }
    return false
  }

  /// For each known kind of secret key: the characters with which such a key begins (`lead`), and the minimum number of
  /// characters after them.
  private static let leads: [(lead: String, least: Int)] = [
    ("AGE-SECRET-KEY-1", 40), ("-----BEGIN", 10), ("ghp_", 30), ("gho_", 30),
    ("github_pat_", 30), ("glpat-", 18), ("xoxb-", 20), ("xoxp-", 20), ("AKIA", 16), ("ASIA", 16),
    ("AIza", 35), ("sk-", 20), ("sk_live_", 16), ("rk_live_", 16), ("ya29.", 20), ("SG.", 40),
    ("npm_", 36), ("Bearer ", 20), ("hf_", 30),
  ]

  /// Whether the bytes contain a JSON Web Token (RFC 7519): two JSON objects in base64, joined by a dot. One object
  /// alone is not enough, because any JSON object in base64 begins in the same way.
  private static func hasWebToken(_ bytes: [UInt8]) -> Bool {
    let lead = Array("eyJ".utf8)
    var place = 0
    while let start = bytes[place...].firstIndex(of: lead[0]) {
      place = start + 1
      let run = bytes[start...].prefix { isLetter($0) || isDigit($0) || "-_".utf8.contains($0) }
      if run.count > 16, run.starts(with: lead), run.endIndex < bytes.count,
        bytes[run.endIndex] == UInt8(ascii: "."), bytes[(run.endIndex + 1)...].starts(with: lead)
      {
        return true
      }
    }
    return false
  }

  private static func hasKey(_ bytes: [UInt8]) -> Bool {
    hasWebToken(bytes)
      || leads.contains { lead, least in
        let lead = Array(lead.utf8)
        var place = 0
        while let start = bytes[place...].firstIndex(of: lead[0]) {
          place = start + 1
          let end = start + lead.count
          guard end + least <= bytes.count, bytes[start..<end].elementsEqual(lead),
            start == 0 || !joins(bytes[start - 1], lead[0])
          else { continue }
          if bytes[end..<end + least].allSatisfy({
            isLetter($0) || isDigit($0) || " -_.+/=".utf8.contains($0)
          }) {
            return true
          }
        }
        return false
      }
  }
}
