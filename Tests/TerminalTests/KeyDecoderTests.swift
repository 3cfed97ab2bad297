import Testing

@testable import Terminal

/// The sequences are those of xterm's "Control Sequences", of the VT220's manual and of the Linux console.
@Suite struct KeyDecoderTests {
  private func keys(_ text: String) -> [Key] {
    var decoder = KeyDecoder()
    return decoder.keys(Array(text.utf8)) + decoder.flush()
  }

  @Test(
    arguments: [
      ("a", [.text("a")]), ("Zoë", [.text("Z"), .text("o"), .text("ë")]),
      ("日😀", [.text("日"), .text("😀")]), ("\r", [.enter]), ("\n", [.enter]), ("\t", [.tab]),
      ("\u{7F}", [.backspace]), ("\u{8}", [.backspace]), ("\u{3}", [.control("c")]),
      ("\u{15}", [.control("u")]), ("\u{1B}", [.escape]), ("\u{1B}\u{1B}", [.escape, .escape]),
      ("\u{1B}[A", [.up]), ("\u{1B}[B", [.down]), ("\u{1B}[C", [.right]), ("\u{1B}[D", [.left]),
      ("\u{1B}OA", [.up]), ("\u{1B}OD", [.left]), ("\u{1B}[H", [.home]), ("\u{1B}[F", [.end]),
      ("\u{1B}OH", [.home]), ("\u{1B}[1~", [.home]), ("\u{1B}[4~", [.end]),
      ("\u{1B}[7~", [.home]), ("\u{1B}[8~", [.end]), ("\u{1B}[5~", [.pageUp]),
      ("\u{1B}[6~", [.pageDown]), ("\u{1B}[3~", [.delete]), ("\u{1B}[Z", [.backTab]),
      ("\u{1B}OM", [.enter]), ("\u{1B}[1;5A", [.up]), ("\u{1B}[6;2~", [.pageDown]),
      ("\u{1B}q", [.escape, .text("q")]), ("x\u{1B}[Ay", [.text("x"), .up, .text("y")]),
      // Keys that the browser does not use, and reports that a terminal may send.
      ("\u{1B}[15~", []), ("\u{1B}[?62;4c", []),
      ("\u{1B}]11;rgb:0000/0000/0000\u{7}q", [.text("q")]),
      ("\u{1B}]0;title\u{1B}\\q", [.text("q")]), ("\u{1B}P1$r0m\u{1B}\\q", [.text("q")]),
      ("\u{1B}[\rq", [.enter, .text("q")]), ("\u{0}", []),
    ] as [(String, [Key])])
  func keysOfBytes(_ text: String, _ expected: [Key]) {
    #expect(keys(text) == expected)
  }

  @Test func bytesMayComeOneByOne() {
    let text = "é\u{1B}[5~日\u{1B}OB"
    var decoder = KeyDecoder()
    let single = text.utf8.flatMap { decoder.keys([$0]) }
    #expect(single == [.text("é"), .pageUp, .text("日"), .down])
    #expect(!decoder.isWaiting)
  }

  @Test func anEscapeWaitsForWhatFollows() {
    var decoder = KeyDecoder()
    #expect(decoder.keys([0x1B]) == [])
    #expect(decoder.isWaiting)
    #expect(decoder.flush() == [.escape])
    #expect(!decoder.isWaiting)
    #expect(decoder.keys([0x1B]) + decoder.keys(Array("[B".utf8)) == [.down])
    // A sequence that breaks off is dropped, and the next key is whole.
    #expect(decoder.keys(Array("\u{1B}[1;".utf8)) == [])
    #expect(decoder.flush() == [])
    #expect(decoder.keys(Array("q".utf8)) == [.text("q")])
  }

  @Test func bytesThatAreNoTextAreDropped() {
    var decoder = KeyDecoder()
    #expect(decoder.keys([0xFF, 0xC0, 0x80, 0xC3, 0x61]) == [.text("a")])
    // A C1 control, an overlong form, a surrogate.
    #expect(decoder.keys([0xC2, 0x9B, 0xE0, 0x80, 0xAF, 0xED, 0xA0, 0x80, 0x62]) == [.text("b")])
    let long = Array("\u{1B}[".utf8) + [UInt8](repeating: 0x31, count: 100_000)
    #expect(decoder.keys(long) == [])
    #expect(decoder.keys(Array("~q".utf8)) == [.text("q")])
  }

  @Test func everyByteLeadsBackToKeys() {
    for first in UInt8.min...UInt8.max {
      for second in UInt8.min...UInt8.max {
        var decoder = KeyDecoder()
        _ = decoder.keys([0x1B, first, second])
        _ = decoder.flush()
        #expect(decoder.keys([UInt8(ascii: "q")]) == [.text("q")], "\(first) \(second)")
      }
    }
  }
}
