import SafeText

/// Makes JSON and CSV safe for a terminal. Use it only for a terminal: the bytes of files and pipes must not change.
///
/// Scalars for which ``VisibleText/isHidden(_:)`` is true become escapes such as `\u202E`, which mean the same text in
/// JSON and are readable in CSV. Line ends and tabs stay. Bytes that are not UTF-8 become escapes such as `\xFF`.
package struct TerminalText {
  /// The bytes that are held back until more bytes arrive: the first bytes of an incomplete character, or a CR that an
  /// LF may follow.
  private var held: [UInt8] = []

  package init() {}

  /// Returns `bytes` in a form that is safe for a terminal. If `bytes` ends within a character, the incomplete
  /// character is held back and returned by the next call. `isEnd` is true for the last bytes.
  package mutating func escaped(_ bytes: some Sequence<UInt8>, isEnd: Bool) -> [UInt8] {
    var input = held
    held = []
    input.append(contentsOf: bytes)
    var output: [UInt8] = []
    output.reserveCapacity(input.count)
    var place = 0
    while place < input.count {
      let first = input[place]
      if first == UInt8(ascii: "\r") {
        guard place + 1 < input.count || isEnd else {
          held = [first]
          break
        }
        if place + 1 < input.count, input[place + 1] == UInt8(ascii: "\n") {
          output.append(first)
        } else {
          Self.append(UInt32(first), to: &output)
        }
        place += 1
        continue
      }
      if first < 0x80 {
        if first == 0x09 || first == 0x0a || (first >= 0x20 && first < 0x7f) {
          output.append(first)
        } else {
          Self.append(UInt32(first), to: &output)
        }
        place += 1
        continue
      }
      let length = Self.length(first)
      let end = min(place + length, input.count)
      if end - place < length, !isEnd, input[(place + 1)..<end].allSatisfy({ $0 & 0xc0 == 0x80 }) {
        held = Array(input[place...])
        break
      }
      if let scalar = Self.scalar(input[place..<end], length) {
        if VisibleText.isHidden(scalar) {
          Self.append(scalar.value, to: &output)
        } else {
          output += input[place..<end]
        }
        place = end
      } else {
        output += "\\x".utf8
        output.append(Self.digit(first >> 4))
        output.append(Self.digit(first & 15))
        place += 1
      }
    }
    return output
  }

  package static func escaped(_ text: String) -> String {
    var terminal = TerminalText()
    return String(decoding: terminal.escaped(text.utf8, isEnd: true), as: UTF8.self)
  }

  /// Returns the number of bytes of a character with this first byte; 1 for a byte that cannot start a character.
  private static func length(_ first: UInt8) -> Int {
    switch first {
    case 0xc2...0xdf: 2
    case 0xe0...0xef: 3
    case 0xf0...0xf4: 4
    default: 1
    }
  }

  private static func scalar(_ bytes: ArraySlice<UInt8>, _ length: Int) -> Unicode.Scalar? {
    guard length > 1, bytes.count == length, let first = bytes.first else { return nil }
    var value = UInt32(first) & (0x7f >> UInt32(length))
    for byte in bytes.dropFirst() {
      guard byte & 0xc0 == 0x80 else { return nil }
      value = value << 6 | UInt32(byte & 0x3f)
    }
    // Only the shortest encoding of a character is valid.
    let minValue: UInt32 = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x1_0000
    return value < minValue ? nil : Unicode.Scalar(value)
  }

  private static func append(_ value: UInt32, to output: inout [UInt8]) {
    guard value > 0xffff else { return append(unit: value, to: &output) }
    append(unit: 0xd800 + (value - 0x1_0000) >> 10, to: &output)
    append(unit: 0xdc00 + (value - 0x1_0000) & 0x3ff, to: &output)
  }

  private static func append(unit: UInt32, to output: inout [UInt8]) {
    output += "\\u".utf8
    for shift: UInt32 in [12, 8, 4, 0] {
      output.append(digit(UInt8(truncatingIfNeeded: unit >> shift) & 15))
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}
