package enum Key: Sendable, Hashable {
  /// A typed character: one Unicode scalar that is not a control character.
  case text(String)
  case enter
  /// The Escape key itself, not the byte that starts a control sequence.
  case escape
  case tab
  /// Shift with the Tab key.
  case backTab
  /// Backspace; terminals send DEL or BS.
  case backspace
  case delete
  case up
  case down
  case left
  case right
  case home
  case end
  case pageUp
  case pageDown
  /// A letter that is typed with the Control key, in lower case.
  case control(Character)
}

/// Recognises keys in the bytes that a terminal sends. Characters are in UTF-8, other keys in the control sequences of
/// ECMA-48 and xterm.
///
/// The decoder is a state machine over bytes. If no byte has come after an Escape, the Escape may be the key or the
/// start of a sequence. The caller waits a moment for more bytes, and then calls ``flush()``.
package struct KeyDecoder: Sendable, Equatable {
  private enum State: Sendable, Equatable {
    case ground
    case escape
    /// After `ESC [`: the parameter and intermediate bytes so far.
    case sequence([UInt8])
    /// After `ESC O`: the next byte names the key.
    case single
    /// Within a string that ends with BEL or ST, such as a terminal's report. The string is dropped.
    case string(afterEscape: Bool)
    /// Within a character of UTF-8: its bytes so far, and the number of bytes that the whole character has.
    case character([UInt8], Int)
  }

  private var state = State.ground
  /// The maximum number of parameter and intermediate bytes that are kept of one control sequence. Further bytes are
  /// dropped until the sequence ends.
  private static let maxParameters = 32

  package init() {}

  /// Whether the bytes so far end within an escape sequence or a character.
  package var isWaiting: Bool { state != .ground }

  /// Decodes bytes of terminal input, and returns the keys whose byte sequences are complete, in their order. The bytes
  /// of an incomplete sequence count in the next call.
  package mutating func keys(_ bytes: some Sequence<UInt8>) -> [Key] {
    var keys: [Key] = []
    for byte in bytes { take(byte, &keys) }
    return keys
  }

  /// Ends an unfinished sequence or character, because no further byte has come. If only an Escape has come, returns
  /// the Escape key. Anything else is dropped.
  package mutating func flush() -> [Key] {
    defer { state = .ground }
    return state == .escape ? [.escape] : []
  }

  private mutating func take(_ byte: UInt8, _ keys: inout [Key]) {
    switch state {
    case .ground: begin(byte, &keys)
    case .escape:
      switch byte {
      case 0x1B: keys.append(.escape)
      case UInt8(ascii: "["): state = .sequence([])
      case UInt8(ascii: "O"): state = .single
      case UInt8(ascii: "]"), UInt8(ascii: "P"), UInt8(ascii: "_"), UInt8(ascii: "^"):
        state = .string(afterEscape: false)
      default:
        // The Escape key and then another key, which arrived together. Alt with the other key sends the same bytes.
        state = .ground
        keys.append(.escape)
        begin(byte, &keys)
      }
    case .sequence(let parameters):
      switch byte {
      case 0x20...0x3F:
        if parameters.count < Self.maxParameters { state = .sequence(parameters + [byte]) }
      case 0x40...0x7E:
        state = .ground
        if let key = Self.key(parameters, byte) { keys.append(key) }
      default:
        // A control character ends the sequence, which is dropped.
        state = .ground
        begin(byte, &keys)
      }
    case .single:
      state = .ground
      if byte == UInt8(ascii: "M") {
        keys.append(.enter)
      } else if let key = Self.key([], byte) {
        keys.append(key)
      }
    case .string(let afterEscape):
      if byte == 0x07 || (afterEscape && byte == UInt8(ascii: "\\")) {
        state = .ground
      } else {
        state = .string(afterEscape: byte == 0x1B)
      }
    case .character(let bytes, let count):
      guard byte & 0xC0 == 0x80 else {
        state = .ground
        return begin(byte, &keys)
      }
      guard bytes.count + 1 == count else {
        state = .character(bytes + [byte], count)
        return
      }
      state = .ground
      if let text = String(validating: bytes + [byte], as: UTF8.self),
        text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
      {
        keys.append(.text(text))
      }
    }
  }

  private mutating func begin(_ byte: UInt8, _ keys: inout [Key]) {
    state = .ground
    switch byte {
    case 0x1B: state = .escape
    case 0x0A, 0x0D: keys.append(.enter)
    case 0x09: keys.append(.tab)
    case 0x08, 0x7F: keys.append(.backspace)
    case 0x01...0x1A:
      keys.append(.control(Character(Unicode.Scalar(byte + 0x60))))
    case 0x20...0x7E: keys.append(.text(String(Unicode.Scalar(byte))))
    case 0xC2...0xDF: state = .character([byte], 2)
    case 0xE0...0xEF: state = .character([byte], 3)
    case 0xF0...0xF4: state = .character([byte], 4)
    default: break
    }
  }

  /// Returns the key of a control sequence (xterm's "PC-Style Function Keys" and "VT220-Style"); nil when ``Key`` has
  /// no case for the sequence. Modifiers, such as Shift in the second parameter, are ignored.
  private static func key(_ parameters: [UInt8], _ final: UInt8) -> Key? {
    switch final {
    case UInt8(ascii: "A"): return .up
    case UInt8(ascii: "B"): return .down
    case UInt8(ascii: "C"): return .right
    case UInt8(ascii: "D"): return .left
    case UInt8(ascii: "H"): return .home
    case UInt8(ascii: "F"): return .end
    case UInt8(ascii: "Z"): return .backTab
    case UInt8(ascii: "~"):
      let first = parameters.prefix { $0 != UInt8(ascii: ";") }
      switch String(decoding: first, as: UTF8.self) {
      case "1", "7": return .home
      case "4", "8": return .end
      case "3": return .delete
      case "5": return .pageUp
      case "6": return .pageDown
      default: return nil
      }
    default: return nil
    }
  }
}
