import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

struct PropertyListTests {
  static let sample = PropertyList.dictionary([
    "null": .null, "yes": .bool(true), "no": .bool(false), "empty": .string(""),
    "integers": .array(
      [0, 1, 127, 128, 255, 256, 65_535, 65_536, 4_294_967_295, 4_294_967_296, -1, .max, .min]
        .map { .integer($0) }),
    "reals": .array([.real(0.5), .real(-1e300), .real(.infinity)]),
    "date": .date(738_936_123.25), "data": .data(Array(0...40)), "uid": .uid(70_000),
    "text": .string("grün 🙂"), "long": .string(String(repeating: "x", count: 300)),
    "set": .set([.integer(1), .string("a")]),
    "nested": .dictionary(["a": .array([.dictionary([:]), .array([])])]),
    "many": .array((0..<300).map { .string("s\($0)") }),
  ])

  @Test func binaryRoundTrip() throws {
    let bytes = Self.sample.binaryBytes()
    #expect(bytes == Self.sample.binaryBytes())
    #expect(try PropertyList(bytes: bytes) == Self.sample)
    #expect(try PropertyList(binary: PropertyList.string("x").binaryBytes()) == .string("x"))
  }

  /// Foundation's own reader and writer as the other side.
  @Test func foundationReadsWhatIsWrittenAndTheOtherWayRound() throws {
    let list = PropertyList.dictionary([
      "a": .array([.integer(5), .real(1.5), .bool(true), .string("ü")]),
      "b": .data([1, 2, 3]), "c": .date(86_400),
    ])
    let object = try unsafe PropertyListSerialization.propertyList(
      from: Data(list.binaryBytes()), options: [], format: nil)
    let dictionary = try #require(object as? [String: Any])
    #expect(dictionary["b"] as? Data == Data([1, 2, 3]))
    #expect(dictionary["c"] as? Date == Date(timeIntervalSinceReferenceDate: 86_400))
    for format in [PropertyListSerialization.PropertyListFormat.binary, .xml] {
      let written = try PropertyListSerialization.data(
        fromPropertyList: dictionary, format: format, options: 0)
      #expect(try PropertyList(bytes: Array(written)) == list, "\(format)")
    }
  }

  /// Integers in XML, as Foundation reads them.
  @Test(arguments: [
    "5", "-5", "0x1f", "0X1F", "-0x5", "+0x5", "0x-5", "0x+5", "0x", "10x5", "0x5g",
  ])
  func integersInXML(_ text: String) throws {
    let bytes = Array("<plist version=\"1.0\"><integer>\(text)</integer></plist>".utf8)
    let theirs = try? unsafe PropertyListSerialization.propertyList(
      from: Data(bytes), options: [], format: nil)
    let number = theirs.flatMap { Int64("\($0)") }
    #expect((try? PropertyList(bytes: bytes)) == number.map { PropertyList.integer($0) })
  }

  /// Integers of 16 bytes as Foundation writes them for unsigned numbers beyond `Int64`.
  @Test func wideIntegers() throws {
    func read(_ object: [UInt8]) throws -> PropertyList {
      var bytes = Array("bplist00".utf8) + object
      let table = UInt8(bytes.count)
      bytes += [8, 0, 0, 0, 0, 0, 0, 1, 1]
      bytes += [0, 0, 0, 0, 0, 0, 0, 1] + [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, table]
      return try PropertyList(binary: bytes)
    }
    let zeros = [UInt8](repeating: 0, count: 8)
    let ones = [UInt8](repeating: 255, count: 8)
    #expect(try read([0x14] + zeros + [0, 0, 0, 0, 0, 0, 0, 9]) == .integer(9))
    #expect(try read([0x14] + ones + ones) == .integer(-1))
    #expect(try read([0x14] + zeros + ones) == .real(0x1p64))
    #expect(try read([0x10, 0xFF]) == .integer(255))
    #expect(try read([0x13] + ones) == .integer(-1))
    #expect(try read([0x22, 0x3F, 0x80, 0, 0]) == .real(1))
    #expect(try read([0x52, 0x68, 0x69]) == .string("hi"))
    #expect(throws: PropertyListError.self) { try read([0x5F, 0x13] + ones) }
    #expect(throws: PropertyListError.self) { try read([0x0F]) }
  }

  @Test func xmlForm() throws {
    let xml = """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0"><dict>
        <key>a</key><array><integer>-7</integer><real>2.5</real><true/><false/></array>
        <key>d</key><date>2001-01-02T00:00:00Z</date>
        <key>e</key><date>2024-02-29T12:30:05Z</date>
        <key>b</key><data>
          AQID
        </data>
        <key>s &amp; t</key><string>&lt;x&gt; ü</string>
        <key>u</key><dict><key>CF$UID</key><integer>3</integer></dict>
        <key>n</key><string></string><key>m</key><array/>
      </dict></plist>
      """
    let expected = PropertyList.dictionary([
      "a": .array([.integer(-7), .real(2.5), .bool(true), .bool(false)]),
      "d": .date(86_400), "e": .date(730_902_605), "b": .data([1, 2, 3]),
      "s & t": .string("<x> ü"), "u": .uid(3), "n": .string(""), "m": .array([]),
    ])
    #expect(try PropertyList(bytes: Array(xml.utf8)) == expected)
  }

  @Test(arguments: [
    "<plist><dict><string>a</string></dict></plist>",
    "<plist><dict><key>a</key></dict></plist>",
    "<plist><integer>x</integer></plist>", "<plist><date>yesterday</date></plist>",
    "<plist><data>***</data></plist>", "<plist><string>a</string><string>b</string></plist>",
    "<plist><string><true/></string></plist>", "<plist></plist>", "<html/>", "<plist><dict>",
    "", "x", "<", "<?xml version=\"1.0\" encoding=\"UTF-7\"?><plist><true/></plist>",
  ])
  func wrongXMLIsRefused(_ xml: String) {
    #expect(throws: PropertyListError.self) { try PropertyList(bytes: Array(xml.utf8)) }
  }

  // MARK: Hostile input

  @Test func entityDeclarationsAreRefused() {
    var laughs = "<?xml version=\"1.0\"?><!DOCTYPE lolz [<!ENTITY a0 \"ha\">"
    for level in 1..<12 {
      let reference = String(repeating: "&a\(level - 1);", count: 10)
      laughs += "<!ENTITY a\(level) \"\(reference)\">"
    }
    let documents = [
      laughs + "]><plist><string>&a11;</string></plist>",
      "<!DOCTYPE plist [<!ATTLIST plist x CDATA \"y\">]><plist><true/></plist>",
      "<!DOCTYPE plist SYSTEM \"x\" [<!ENTITY e SYSTEM \"file:///etc/passwd\">]>"
        + "<plist><string>&e;</string></plist>",
    ]
    for document in documents {
      let error = #expect(throws: PropertyListError.self) {
        try PropertyList(bytes: Array(document.utf8))
      }
      #expect(error?.code == .unsafeXML)
      let modelError = #expect(throws: ModelError.self) {
        try ManagedObjectModel(contentsXML: Array(document.utf8))
      }
      #expect(modelError?.code == .unsafeXML)
    }
  }

  @Test func deepXMLEnds() {
    let depth = 100_000
    let xml =
      "<plist>" + String(repeating: "<array>", count: depth)
      + String(repeating: "</array>", count: depth) + "</plist>"
    #expect(throws: PropertyListError.self) { try PropertyList(bytes: Array(xml.utf8)) }
    #expect(throws: ModelError.self) { try ManagedObjectModel(contentsXML: Array(xml.utf8)) }
  }

  /// A list of `count` objects made by `object`, each given the index and 4-byte references.
  static func table(
    count: Int, top: Int = 0, _ object: (Int, (Int) -> [UInt8]) -> [UInt8]
  ) -> [UInt8] {
    func big(_ value: Int, _ size: Int) -> [UInt8] {
      (0..<size).map { UInt8(truncatingIfNeeded: value >> ((size - 1 - $0) * 8)) }
    }
    var bytes = Array("bplist00".utf8)
    var offsets: [Int] = []
    for index in 0..<count {
      offsets.append(bytes.count)
      bytes += object(index) { big($0, 4) }
    }
    let table = bytes.count
    for offset in offsets { bytes += big(offset, 4) }
    return bytes + [0, 0, 0, 0, 0, 0, 4, 4] + big(count, 8) + big(top, 8) + big(table, 8)
  }

  @Test func deepBinaryEnds() {
    let depth = 100_000
    let bytes = Self.table(count: depth) { index, reference in
      index + 1 == depth ? [0xA0] : [0xA1] + reference(index + 1)
    }
    let error = #expect(throws: PropertyListError.self) { try PropertyList(binary: bytes) }
    #expect(error?.code == .tooDeep)
  }

  /// Sharing makes a list deep that never is on the way down: each part is met at its least depth.
  @Test func deepSharingEnds() {
    let depth = 200
    let bytes = Self.table(count: depth + 1, top: depth) { index, reference in
      if index == depth {
        return [0xAF, 0x10, UInt8(depth)] + (0..<depth).flatMap { reference($0) }
      }
      return index == 0 ? [0xA0] : [0xA1] + reference(index - 1)
    }
    let error = #expect(throws: PropertyListError.self) { try PropertyList(binary: bytes) }
    #expect(error?.code == .tooDeep)
  }

  @Test func sharingBombEnds() {
    let bytes = Self.table(count: 60) { index, reference in
      index == 59 ? [0x51, 0x41] : [0xA2] + reference(index + 1) + reference(index + 1)
    }
    let error = #expect(throws: PropertyListError.self) { try PropertyList(binary: bytes) }
    #expect(error?.code == .tooLarge)
    #expect(throws: ModelError.self) { try ManagedObjectModel(archive: bytes) }
  }

  @Test func cyclesEnd() {
    let itself = Self.table(count: 1) { index, reference in [0xA1] + reference(index) }
    let ring = Self.table(count: 3) { index, reference in [0xA1] + reference((index + 1) % 3) }
    for bytes in [itself, ring] {
      let error = #expect(throws: PropertyListError.self) { try PropertyList(binary: bytes) }
      #expect(error?.code == .cyclic)
    }
  }

  @Test func tenMillionEntriesEnd() {
    let count = 10_000_000
    let wide = Self.table(count: 2) { index, _ in
      index == 1
        ? [0x09]
        : [0xAF, 0x12, 0x00, 0x98, 0x96, 0x80] + [UInt8](repeating: 0, count: count * 4)
    }
    // Refused for what it announces, before anything of it is looked at.
    let error = #expect(throws: PropertyListError.self) { try PropertyList(binary: wide) }
    #expect(error?.code == .tooLarge)
    let announced = Self.table(count: 1) { _, _ in
      [0xAF, 0x13] + [UInt8](repeating: 0x7F, count: 8)
    }
    #expect(throws: PropertyListError.self) { try PropertyList(binary: announced) }
  }

  /// A thousand offsets that lead to one long string.
  @Test func overlappingObjectsAreRefused() {
    func big(_ value: Int, _ size: Int) -> [UInt8] {
      (0..<size).map { UInt8(truncatingIfNeeded: value >> ((size - 1 - $0) * 8)) }
    }
    var bytes = Array("bplist00".utf8) + [0x5F, 0x12] + big(100_000, 4)
    bytes += [UInt8](repeating: 0x41, count: 100_000)
    let table = bytes.count
    for _ in 0..<1_000 { bytes += big(8, 4) }
    bytes += [0, 0, 0, 0, 0, 0, 4, 4] + big(1_000, 8) + big(0, 8) + big(table, 8)
    let error = #expect(throws: PropertyListError.self) { try PropertyList(binary: bytes) }
    #expect(error?.code == .malformed)
  }

  /// The most that is read; the time limit only stops a hang.
  @Test func theLargestListIsRead() throws {
    let list = PropertyList.array((0..<Int64(1_000_000)).map { .integer($0) })
    let bytes = list.binaryBytes()
    #expect(try PropertyList(binary: bytes) == list)
  }
}
