import SafeText
import StoreExtraction

/// Replaces names that a user may have chosen with the tokens `name-1`, `name-2`, and so on. A name has the same token
/// everywhere in a bundle.
struct NameTokens {
  /// The kind of thing that a name belongs to. The raw value is used in sentences of the manifest.
  enum Kind: String, CaseIterable {
    case store = "the store's file"
    case supportFile = "files beside the store"
    case identifier = "the store's UUID"
    case digest = "digests"
    case entity = "entities"
    case schema = "tables, columns and other parts of the schema"
    case key = "keys of the metadata"
    case version = "versions of the model or the app"
    case other = "other texts"
  }

  /// The number in the token of each name, keyed by the UTF-8 bytes of the name. Strings are not used as keys, because
  /// Swift considers some names with different bytes equal.
  private var numbers: [[UInt8]: Int] = [:]
  private var kinds: [Kind] = []
  /// The lengths of the names that have tokens, in bytes, without duplicates, in descending order.
  private(set) var lengths: [Int] = []
  /// The numbers of the tokens that replace names in the store itself. All other tokens replace names that are only in
  /// the incident's record.
  private var numbersOfStore: Set<Int> = []
  /// Says where the names come from that ``token(for:_:)`` gets from now on. True for names in the store itself, false
  /// for names in the record of an incident.
  var isOfStore = false
  /// The largest number in the tokens of the bundle that is copied; 0 for a new bundle. New tokens have larger numbers.
  private let highest: Int

  init(after highest: Int = 0) { self.highest = highest }

  var names: [[UInt8]] { Array(numbers.keys) }

  /// Returns the token of a name. A new name gets a new token.
  mutating func token(for text: String, _ kind: Kind) -> String {
    let number = number(of: Array(text.utf8), kind)
    if isOfStore { numbersOfStore.insert(number) }
    return "name-\(number)"
  }

  private mutating func number(of bytes: [UInt8], _ kind: Kind) -> Int {
    if let number = numbers[bytes] { return number }
    kinds.append(kind)
    let number = highest + kinds.count
    numbers[bytes] = number
    if !lengths.contains(bytes.count), !bytes.isEmpty {
      lengths.append(bytes.count)
      lengths.sort(by: >)
    }
    return number
  }

  func token(of bytes: ArraySlice<UInt8>) -> String? {
    numbers[Array(bytes)].map { "name-\($0)" }
  }

  /// Returns the number in a token, such as 7 for `name-7`; nil for a string that is not a token.
  static func number(of token: String) -> Int? {
    PathText.dropping(prefix: "name-", from: token).flatMap { digits in
      digits.utf8.allSatisfy(NameForm.isDigit) ? Int(digits) : nil
    }
  }

  /// Returns the highest number that a token in `text` has; 0 when `text` contains no token.
  static func highest(in text: [UInt8]) -> Int {
    var highest = 0
    let lead = Array("name-".utf8)
    var place = text.startIndex
    while let start = text[place...].firstIndex(of: lead[0]) {
      place = start + 1
      guard text[start...].starts(with: lead) else { continue }
      // Fifteen digits are enough: no bundle has so many names.
      let digits = text[(start + lead.count)...].prefix(while: NameForm.isDigit).prefix(15)
      highest = max(highest, Int(String(decoding: digits, as: UTF8.self)) ?? 0)
    }
    return highest
  }

  /// Returns sentences for the manifest that say which tokens replace names, by kind of name.
  ///
  /// - Parameter besideFiles: whether the bundle also contains the store's own files, in which no names are replaced.
  ///   If true, a sentence about names that occur in the store says that tokens replace these names in the records
  ///   only.
  /// - Returns: one or two sentences for each kind of name that has tokens.
  func sentences(besideFiles: Bool) -> [String] {
    Kind.allCases.flatMap { kind in
      let all = kinds.indices.filter { kinds[$0] == kind }.map { highest + $0 + 1 }
      let kept = besideFiles ? all.filter(numbersOfStore.contains) : []
      let gone = all.filter { !kept.contains($0) }
      return [
        (kept, " in the records only, because the store's own files have these names"),
        (gone, ""),
      ].compactMap { numbers, place in
        numbers.isEmpty
          ? nil : "Unusual names (\(kind.rawValue)), replaced by \(Self.list(numbers))\(place)."
      }
    }
  }

  /// Returns the tokens with these numbers as text, for example `name-1, name-3 to name-7`.
  private static func list(_ numbers: [Int]) -> String {
    var runs: [ClosedRange<Int>] = []
    for number in numbers {
      if let last = runs.last, last.upperBound == number - 1 {
        runs[runs.count - 1] = last.lowerBound...number
      } else {
        runs.append(number...number)
      }
    }
    return runs.map { run in
      switch run.count {
      case 1: "name-\(run.lowerBound)"
      case 2: "name-\(run.lowerBound), name-\(run.upperBound)"
      default: "name-\(run.lowerBound) to name-\(run.upperBound)"
      }
    }.joined(separator: ", ")
  }
}

/// Tests whether a string has the form of a name in a program, of a UUID or of a digest. A user has probably not chosen
/// such a string.
enum NameForm {
  /// Whether the text has the form of an identifier: only ASCII letters, digits, `_` and `$`, without a digit at the
  /// start. A text that is too long (``isSober(_:)``) is not accepted.
  static func isIdentifier(_ text: String) -> Bool {
    guard let first = text.utf8.first, !isDigit(first), isSober(text) else { return false }
    return text.utf8.allSatisfy { isWord($0) || "_$".utf8.contains($0) }
  }

  /// Whether a name is too short to be prose, and has no number as long as a telephone number. A name may have 64
  /// bytes, five words joined by `_`, and six digits in a row. A name that begins with `Z_` may have 128 bytes and ten
  /// words, because Core Data joins several names to such a name.
  private static func isSober(_ text: String) -> Bool {
    let isJoined = text.utf8.starts(with: "Z_".utf8)
    guard text.utf8.count <= (isJoined ? 128 : 64) else { return false }
    let words = text.utf8.split(separator: UInt8(ascii: "_")).count
    return words <= (isJoined ? 10 : 5) && !hasLongNumber(text)
  }

  private static func hasLongNumber(_ text: String) -> Bool {
    var count = 0
    for byte in text.utf8 {
      count = isDigit(byte) ? count + 1 : 0
      if count >= 7 { return true }
    }
    return false
  }

  /// Whether the text may be the name of a metadata key: ASCII letters, digits and `_.-+:`, and not too long.
  static func isKey(_ text: String) -> Bool { isDotted(text) && isSober(text) }

  /// Whether the text may be a string that a developer wrote into a model, such as a version hash modifier. Such a
  /// string has at most 64 bytes, and consists of up to five names with one space between them.
  static func isCode(_ text: String) -> Bool {
    let words = text.utf8.split(separator: 0x20, omittingEmptySubsequences: false)
    return words.count <= 5 && text.utf8.count <= 64
      && words.allSatisfy { isKey(String(decoding: $0, as: UTF8.self)) }
  }

  /// Whether the text may be the value of `rule` in an incident's record. Such a value is `open`, or lower-case
  /// letters, a dot, and then letters, digits and dots. It has at most 48 bytes and no number of seven or more digits.
  static func isRule(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    if bytes.elementsEqual("open".utf8) { return true }
    guard bytes.count <= 48, let dot = bytes.firstIndex(of: UInt8(ascii: ".")), dot > 0,
      dot + 1 < bytes.count, !hasLongNumber(text)
    else { return false }
    return bytes[..<dot].allSatisfy { (0x61...0x7a).contains($0) }
      && bytes[(dot + 1)...].allSatisfy {
        isWord($0) || $0 == UInt8(ascii: ".")
      }
  }

  /// Whether the text has 1 to 128 bytes, all of which are ASCII letters, digits and `_.-+:`. Versions, bundle ids and
  /// keys have this form.
  static func isDotted(_ text: String) -> Bool {
    (1...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { isWord($0) || "_.-+:".utf8.contains($0) }
  }

  /// Whether the text may be a name that Xcode gives to a version of a model, such as `Notes 2`: a name without spaces,
  /// optionally followed by a space and a number.
  static func isVersionName(_ text: String) -> Bool {
    guard let space = text.utf8.lastIndex(of: 0x20) else { return isDotted(text) }
    let number = text.utf8[text.utf8.index(after: space)...]
    return isDotted(String(text[..<space])) && !number.isEmpty && number.allSatisfy(isDigit)
  }

  /// Whether the text is a UUID: hexadecimal digits in the form `8-4-4-4-12`.
  static func isUUID(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    return parts.map(\.count) == [8, 4, 4, 4, 12]
      && parts.allSatisfy { $0.allSatisfy(isHexadecimal) }
  }

  /// Whether the text consists of hexadecimal digits for 16 to 64 bytes, two digits for each byte.
  static func isHexadecimal(_ text: String) -> Bool {
    (32...128).contains(text.utf8.count) && text.utf8.count % 2 == 0
      && text.utf8.allSatisfy(isHexadecimal)
  }

  /// Whether the text is the base64 of a digest of 16 to 64 bytes, with its padding.
  static func isDigest(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard bytes.count % 4 == 0, (24...88).contains(bytes.count) else { return false }
    let padding = bytes.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    let size = bytes.count / 4 * 3 - padding
    return padding <= 2 && [16, 20, 32, 48, 64].contains(size)
      && bytes.dropLast(padding).allSatisfy {
        isWord($0) || "+/".utf8.contains($0)
      }
  }

  /// Whether the text looks like a file name that a developer chose: one to three parts with dots between them, each of
  /// 1 to 24 ASCII letters and digits. Users mostly choose names of several words for their documents.
  static func isPlainFileName(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return (1...3).contains(parts.count) && isSober(text)
      && parts.allSatisfy {
        (1...24).contains($0.count) && $0.allSatisfy(isWord)
      }
  }

  static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

  /// Whether a byte is an ASCII letter or digit.
  static func isWord(_ byte: UInt8) -> Bool { Script.isLetter(byte) || isDigit(byte) }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    isDigit(byte) || ((0x61...0x66).contains(byte | 0x20) && byte < 0x80)
  }
}
