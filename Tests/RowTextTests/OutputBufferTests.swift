import Fixtures
import Foundation
import Testing

@testable import RowText
@testable import SQLiteFile

/// The quick ways through text, digits and blobs, against the plain ones of the standard library.
@Suite struct OutputBufferTests {
  private func written(_ write: (inout OutputBuffer) -> Void) throws -> [UInt8] {
    try bytesWritten {
      var buffer = OutputBuffer(descriptor: $0)
      write(&buffer)
      try buffer.finish()
    }
  }

  @Test func realsAreTheShortestThatReadBack() throws {
    var random = SplitMix64(seed: 11)
    var values: [Double] = [
      0, -0.0, 0.1, 0.001, 0.000999, 1e-7, 1, -1, 9.5, 1e9, 999_999_999.999999, 1e15, 1e16, 1e300,
      0.1 + 0.2, 700_000_000.000001, 123.456789, 123.4567891, .leastNonzeroMagnitude,
      123_456_789.123_456_7,
    ]
    for _ in 0..<(Rounds.areLong ? 20_000 : 3_000) {
      let millionths = Int64.random(
        in: -2_000_000_000_000_000...2_000_000_000_000_000, using: &random)
      values.append(Double(millionths) / 1e6)
      values.append(Double(millionths / 1_000_000) / 8)
      values.append(Double(bitPattern: random.next()))
      values.append(Double.random(in: -1000...1000, using: &random))
      values.append(Double.random(in: -0x1p34...0x1p34, using: &random))
      // Few binary places: the digits that are left out may be half of the last one's unit, no more and no less.
      let unit = Double(UInt64(1) << UInt64.random(in: 0...44, using: &random))
      values.append((Double.random(in: 0...0x1p33, using: &random) * unit).rounded() / unit)
      // Beside a power of two.
      let power = UInt64.random(in: 1010...1058, using: &random) << 52
      values.append(Double(bitPattern: power + UInt64.random(in: 0...2, using: &random) - 1))
    }
    values.removeAll { !$0.isFinite }
    let text = try written { buffer in
      for value in values {
        buffer.append(jsonReal: value)
        buffer.append(UInt8(ascii: "\n"))
      }
    }
    let lines = String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
    #expect(lines == values.map(\.description))
  }

  @Test func blobsOfEveryLengthAreHexadecimal() throws {
    var random = SplitMix64(seed: 3)
    for length in 0..<100 {
      let blob = ContiguousArray(random.bytes(length))
      let text = try written { $0.append(hexadecimal: blob.rawSpan) }
      let plain = blob.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      #expect(String(decoding: text, as: UTF8.self) == plain)
    }
  }

  /// Pieces that stand at every distance from the ends of words and blocks.
  @Test func textIsEscapedAndJudgedWhereverItStands() throws {
    let pieces: [[UInt8]] = [
      [0x22], [0x5c], [0x0a], [0x01], [0x1f], [0x7f], Array("é".utf8), Array("東".utf8),
      Array("🛟".utf8), [0xff], [0xc3], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80],
      [0xc0, 0xaf], [0x80],
    ]
    var random = SplitMix64(seed: 8)
    for length in [0, 3, 7, 8, 9, 15, 31, 32, 33, 40, 63, 64, 65, 100, 4095, 4097, 9000] {
      for _ in 0..<(Rounds.areLong ? 40 : 16) {
        var text: [UInt8] = []
        while text.count < length { text.append(UInt8.random(in: 0x20...0x7e, using: &random)) }
        for _ in 0..<Int.random(in: 0...3, using: &random) {
          text.insert(
            contentsOf: pieces.randomElement(using: &random) ?? [],
            at: Int.random(in: 0...text.count, using: &random))
        }
        try compare(text)
      }
    }
  }

  private func compare(_ text: [UInt8]) throws {
    let input = ContiguousArray(text)
    var isValid = true
    let output = try written { isValid = $0.append(jsonString: input.rawSpan) }
    let expected = String(validating: text, as: UTF8.self)
    #expect(isValid == (expected != nil))
    let parsed =
      try JSONSerialization.jsonObject(
        with: Data(output), options: .fragmentsAllowed) as? String
    if let expected {
      #expect(parsed == expected)
      var kept = output
      #expect(try written { isValid = $0.appendIfValid(jsonString: input.rawSpan) } == kept)
      kept.removeAll()
    } else {
      // A replacement for each byte that is not part of a character.
      var plain = ""
      var rest = text[...]
      while let first = rest.first {
        let length = (1...4).first {
          $0 <= rest.count && String(validating: rest.prefix($0), as: UTF8.self) != nil
        }
        plain += length.map { String(decoding: rest.prefix($0), as: UTF8.self) } ?? "\u{fffd}"
        rest = rest.dropFirst(length ?? 1)
        _ = first
      }
      #expect(parsed == plain)
      #expect(try written { isValid = $0.appendIfValid(jsonString: input.rawSpan) }.isEmpty)
    }
    #expect(isValid == (expected != nil))
    // The same in the midst of a page, where texts are put without a look at how much room there is.
    let page = ContiguousArray(
      [0x22, 0xe2] + text + [0x82, 0x22, 0x0a, 0xff, 0xc3, 0x41, 0x42, 0x43])
    var end: Int?
    let put = try written {
      end = $0.put(jsonString: page.rawSpan, 2, text.count, at: $0.room(for: 6 * text.count + 96))
      if let end { $0.advance(to: end) }
    }
    #expect((end != nil) == (expected != nil))
    #expect(put == (expected == nil ? [] : output))
  }

  /// Judging the rest anew at each character would take the square of the length.
  @Test func aLongTextWithABadEndIsReadOnce() throws {
    let text = ContiguousArray(String(repeating: "é", count: 4 << 20).utf8) + [0xff]
    var isValid = true
    let output = try written { isValid = $0.append(jsonString: text.rawSpan) }
    #expect(!isValid && output.count == text.count + 4)
  }

  /// Fields are quoted by their bytes, and programs that part them at semicolons or tabs get no formula either.
  @Test func fieldsAreQuotedAndSafe() throws {
    let cases: [(text: String, safe: String, plain: String)] = [
      (";=1+1", "\"';=1+1\"", ";=1+1"), ("x;=1+1", "\"'x;=1+1\"", "x;=1+1"),
      ("x\t=1+1", "\"'x\t=1+1\"", "x\t=1+1"), ("x;y", "\"x;y\"", "x;y"),
      ("x\ty", "\"x\ty\"", "x\ty"), ("\u{1F}=1", "'\u{1F}=1", "\u{1F}=1"),
      ("=1", "'=1", "=1"), ("x", "x", "x"), ("x\n-y", "\"'x\n-y\"", "\"x\n-y\""),
      ("", "\"\"", "\"\""), ("a,b", "\"a,b\"", "\"a,b\""), ("a\r\nb", "\"a\r\nb\"", "\"a\r\nb\""),
      // A quote or a comma is one with a mark behind it, too.
      ("\"\u{301}", "\"\"\"\u{301}\"", "\"\"\"\u{301}\""),
      (",\u{301}", "\",\u{301}\"", "\",\u{301}\""),
    ]
    for isSafe in [true, false] {
      for field in cases {
        let written = try written { $0.append(csvField: field.text, safeForSpreadsheets: isSafe) }
        #expect(written == Array((isSafe ? field.safe : field.plain).utf8), "\(field.text)")
      }
    }
  }

  /// A byte that matters is found wherever it stands: the same rules, byte by byte, give the same field.
  @Test(arguments: [",", "\"", "\n", "\r", "\t", ";", "-", "\u{1f}", "é", ";=", "\r+", ""])
  func fieldsOfAnyLength(special: String) throws {
    let separators = Set("\t\n\r;".utf8)
    // Usually nine lengths, of all remainders by eight.
    for length in Rounds.part(of: 0..<75, every: 9) {
      for place in 0...length {
        let filler = [UInt8](repeating: place % 2 == 0 ? 0x61 : 0xb7, count: length)
        let field = [0x61] + filler[..<place] + Array(special.utf8) + filler[place...]
        let isFormula = zip(field, field.dropFirst()).contains {
          separators.contains($0) && "=+-".utf8.contains($1)
        }
        for isSafe in [true, false] {
          let ends = isSafe ? separators.union("\",".utf8) : Set("\",\n\r".utf8)
          var expected = field.flatMap { $0 == 0x22 ? [0x22, 0x22] : [$0] }
          if isSafe, isFormula { expected.insert(0x27, at: 0) }
          if field.contains(where: ends.contains) { expected = [0x22] + expected + [0x22] }
          let written = try written { $0.append(csvField: field, safeForSpreadsheets: isSafe) }
          #expect(written == expected, "\(field)")
        }
      }
    }
  }

  /// Digits of integers as the output writes them.
  @Test func integersAreWrittenAsTheyAre() throws {
    var values: [Int64] = [.min, .min + 1, .max, 0, -1, 9, 10, -10]
    for power in 1...18 {
      let ten = (0..<power).reduce(Int64(1)) { value, _ in value * 10 }
      values += [ten - 1, ten, ten + 1, -ten, 1 - ten, ten / 3]
    }
    var generator = SplitMix64(seed: 3)
    for _ in 0..<2000 {
      values.append(Int64(bitPattern: generator.next()) >> Int64(generator.next() % 64))
    }
    let bytes = try written { output in
      for value in values {
        output.append(integer: value)
        output.append(0x0a)
      }
    }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    #expect(lines.map(String.init) == values.map { "\($0)" })
  }
}
