package import ObjectModel

extension OptimisedModel {
  /// Reads an optimised model (`.omo`) as far as its undocumented format is known.
  ///
  /// - Throws: ``ModelError``; `model.notAModel` if the bytes are not an optimised model, `model.malformed` if the
  ///   header has an unknown form.
  package init(bytes: [UInt8]) throws(ModelError) {
    guard Self.isOptimised(bytes) else {
      throw ModelError(
        code: .notAModel, message: "This file is not an optimised model (.omo).", offset: 0)
    }
    let reader = OptimisedReader(bytes: bytes)
    let header = try reader.header()
    let entityCount = try reader.count(header.entities, "entities")
    let propertyCount = try reader.properties(header)
    let wide = reader.wideStrings(header.wideStrings)
    let narrow = reader.strings(header.strings)
    let data = reader.data(header.data)
    let hashes = Set(data.found.compactMap { VersionHash(bytes: Array($0)) })
    let identifiers = Self.identifiers(in: data.found)
    var problems = [wide.problem, narrow.problem, data.problem, identifiers.problem]
      .compactMap { $0 }
    if hashes.count < entityCount {
      problems.append("only \(hashes.count) hashes were found for \(entityCount) entities")
    }
    self.init(
      entityCount: entityCount, propertyCount: propertyCount, entityStrings: wide.found,
      strings: narrow.found, versionIdentifiers: identifiers.found, hashes: hashes,
      problems: problems)
  }

  /// The maximum number of archives that are searched for version identifiers.
  private static let maximumArchives = 64

  /// Returns the sorted version identifiers in the data items of an optimised model. They are read from the first keyed
  /// archive whose root is a string, a list with strings or an empty list. Of a list, only the first 16 elements are
  /// read.
  ///
  /// `problem`: set if there are archives, but no version identifiers were found in those that were read.
  private static func identifiers(
    in items: [ArraySlice<UInt8>]
  ) -> (found: [String], problem: String?) {
    let magic = Array("bplist00".utf8)
    let archives = items.filter { $0.starts(with: magic) }
    let tried = archives.prefix(maximumArchives)
    for item in tried {
      guard let archive = try? KeyedArchive(bytes: Array(item)) else { continue }
      let root = archive.root
      if let text = archive.string(root) { return ([text], nil) }
      guard let elements = archive.elements(root) else { continue }
      let texts = elements.prefix(16).compactMap { archive.string($0) }
      if !texts.isEmpty || elements.isEmpty { return (ByteOrder.sorted(texts), nil) }
    }
    guard !archives.isEmpty else { return ([], nil) }
    return (
      [],
      "no version identifiers were found; archives read: \(tried.count) of \(archives.count)"
    )
  }
}

private struct OptimisedReader {
  /// The layout of the file. Offsets are in bytes from the start of the file. Numbers are big-endian.
  private enum Layout {
    /// The offset of the header. The magic number and filler characters precede the header. The filler differs between
    /// generations of the compiler: `6eee…` and `[]qre…`, then `[]77y…` and `srsr…`.
    static let headerOffset = 64
    /// The bytes of a sentinel. Two sentinels in a row separate two sections.
    static let sentinel: [UInt8] = [0xEF, 0xBE, 0xAD, 0xDE]
    /// The numbers of 32-bit words that the header of the file can have. Each generation of Xcode's compiler writes a
    /// header of one of these lengths. The header of 20 words is that of 22 words without the last two. The header of
    /// 23 words has an additional word in the middle.
    static let headerCounts = [20, 22, 23]
    /// The maximum number of entities, properties, strings and data items that are read.
    static let maximumCount = 200_000
  }

  /// A section of the file. The header gives its offset in the file, in bytes, and the number of its items.
  struct Section {
    let offset: Int
    let count: Int
  }

  struct Header {
    let entities: Section
    let properties: Section
    /// The number of attributes in the section `properties`. The records of attributes come first in this section.
    let attributeCount: Int
    let data: Section
    let wideStrings: Section
    let strings: Section
  }

  let bytes: [UInt8]

  /// Reads the header: the words before the first sentinel, which form pairs of an offset and a count.
  func header() throws(ModelError) -> Header {
    var words: [Int] = []
    var place = Layout.headerOffset
    let most = Layout.headerCounts.max() ?? 0
    while words.count <= most, !isSentinel(place), let word = word(place) {
      words.append(word)
      place += 4
    }
    guard isSentinel(place), Layout.headerCounts.contains(words.count) else {
      throw ModelError(
        code: .malformed, message: "The header of this optimised model has an unknown form.",
        offset: place)
    }
    // In a header of 23 words, one more word precedes the pairs for index records, data and strings.
    let shift = words.count == 23 ? 10 : 9
    func section(_ index: Int) -> Section {
      Section(offset: words[index], count: words[index + 1])
    }
    return Header(
      entities: section(1), properties: section(3), attributeCount: words[5],
      data: section(shift + 2), wideStrings: section(shift + 4),
      strings: section(shift + 6))
  }

  /// Returns the number of items in a section of an optimised model. Throws if the header and the first word of the
  /// section state different numbers.
  func count(_ section: Section, _ what: String) throws(ModelError) -> Int {
    guard word(section.offset) == section.count,
      section.count <= Layout.maximumCount
    else {
      throw ModelError(
        code: .malformed,
        message:
          "The header counts \(section.count) \(what), but their section gives another number.",
        offset: section.offset)
    }
    return section.count
  }

  /// Returns the number of properties that the header states. Throws if the header states more attributes than
  /// properties, or if the section `properties` does not begin with the number of attributes.
  func properties(_ header: Header) throws(ModelError) -> Int {
    let section = header.properties
    guard header.attributeCount <= section.count,
      section.count <= Layout.maximumCount,
      word(section.offset) == header.attributeCount
    else {
      throw ModelError(
        code: .malformed,
        message: "The header counts \(header.attributeCount) attributes among \(section.count) "
          + "properties, but the section of the properties gives other numbers.",
        offset: section.offset)
    }
    return section.count
  }

  // MARK: Items

  /// Reads the UTF-16 strings. Each item has a length in bytes, a zero word and UTF-16LE units, and starts at an
  /// offset that is a multiple of 4. The first item is empty.
  func wideStrings(_ section: Section) -> (found: [String], problem: String?) {
    let (start, problem) = start(section, "UTF-16 strings")
    guard var place = start else { return ([], problem) }
    var found: [String] = []
    for _ in 0..<min(section.count, Layout.maximumCount) {
      guard let length = word(place), word(place + 4) == 0, length % 2 == 0,
        length <= bytes.count - place - 8
      else { return (found, "the UTF-16 strings end early, at offset \(place)") }
      let units = stride(from: place + 8, to: place + 8 + length, by: 2).map {
        UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8
      }
      if length > 0 { found.append(String(decoding: units, as: UTF16.self)) }
      place = aligned(place + 8 + length)
    }
    return (found, nil)
  }

  /// Reads the 8-bit strings of a section. A string is stored as its length in bytes, two zero words and the bytes.
  /// Zeros may lie between the strings, so every multiple of 4 is tried as the start of a string. The count in the
  /// header includes one empty string.
  func strings(_ section: Section) -> (found: [String], problem: String?) {
    let (found, problem) = items(section, "strings", zeroWords: 2) { slice in
      slice.allSatisfy { $0 >= 0x20 }
    }
    return (found.map { String(decoding: $0, as: UTF8.self) }, problem)
  }

  /// Reads the data items. An item consists of its length in bytes, a zero word and its bytes. The number of items in
  /// the header is one higher, because it includes an empty first item.
  func data(_ section: Section) -> (found: [ArraySlice<UInt8>], problem: String?) {
    items(section, "data items", zeroWords: 1) { _ in true }
  }

  private func items(
    _ section: Section, _ what: String, zeroWords: Int, isSound: (ArraySlice<UInt8>) -> Bool
  ) -> (found: [ArraySlice<UInt8>], problem: String?) {
    let (start, problem) = start(section, what)
    guard var place = start else { return ([], problem) }
    let limit = end(from: place)
    var found: [ArraySlice<UInt8>] = []
    let wanted = min(section.count, Layout.maximumCount)
    while found.count < wanted, place < limit {
      let begin = place + 4 + 4 * zeroWords
      if let length = word(place), length > 0, begin <= limit, length <= limit - begin,
        (1...zeroWords).allSatisfy({ word(place + 4 * $0) == 0 }),
        isSound(bytes[begin..<begin + length])
      {
        found.append(bytes[begin..<begin + length])
        place = aligned(begin + length)
      } else {
        place += 4
      }
    }
    // The header's count includes the empty first item, which stands for nil.
    let isWhole = found.count + 1 == section.count || (section.count == 0 && found.isEmpty)
    return (
      found,
      isWhole ? nil : "only \(found.count) of \(max(section.count - 1, 0)) \(what) were found"
    )
  }

  /// Returns the offset after the count with which a section begins. The count is at the section's offset, rounded up
  /// to a multiple of 4. If the header states another count, `place` is nil and `problem` describes the difference.
  private func start(_ section: Section, _ what: String) -> (place: Int?, problem: String?) {
    // Offsets are 32-bit numbers, so rounding up cannot overflow.
    let place = aligned(section.offset)
    guard word(place) == section.count else {
      return (nil, "the section of \(what) does not start with the count that the header gives")
    }
    return (place + 4, nil)
  }

  /// Returns the offset at which the section that contains the offset `place` ends. This is the offset of the next two
  /// sentinels in a row, or the end of the file. The sentinels may begin at any offset.
  private func end(from place: Int) -> Int {
    var place = place
    while place <= bytes.count - 8 {
      if bytes[place] == 0xEF, isSentinel(place), isSentinel(place + 4) { return place }
      place += 1
    }
    return bytes.count
  }

  // MARK: Numbers

  private func aligned(_ place: Int) -> Int { (place + 3) & ~3 }

  /// Returns the big-endian 32-bit number at an offset; nil if the number would extend beyond the end of the file.
  private func word(_ place: Int) -> Int? {
    guard place >= 0, place <= bytes.count - 4 else { return nil }
    return bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
  }

  private func isSentinel(_ place: Int) -> Bool {
    place >= 0 && place <= bytes.count - 4
      && bytes[place..<place + 4].elementsEqual(Layout.sentinel)
  }
}

extension OptimisedModel {
  /// Compares this model's entities with the hashes `stored` of a store, and returns a hash for each entity that is
  /// found by its hash or its name. An entity whose stored hash is in the model gets this hash. An entity of which only
  /// the name is in the model gets a hash of zeros, which equals no real hash. The entry `(unnamed entities)` stands
  /// for all other entities of the model.
  package func hashes(beside stored: [String: VersionHash]) -> [String: VersionHash] {
    let other = VersionHash(digest: [UInt8](repeating: 0, count: VersionHash.byteCount))
    var found: [String: VersionHash] = [:]
    for (name, hash) in stored {
      if contains(hash) {
        found[name] = hash
      } else if entityStrings.contains(name) {
        found[name] = other
      }
    }
    if found.count < entityCount { found["(unnamed entities)"] = other }
    return found
  }
}
