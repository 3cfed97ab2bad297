/// Reads pages by page number, from the main file or the overlays, through a few windows.
///
/// The reader is noncopyable, and a page borrows the reader exclusively. So the compiler ensures that no page is in use
/// when another read may replace its bytes.
package struct PageReader: ~Copyable {
  /// Pages that replace those of the main file: newer ones from the write-ahead log, or older ones from a hot journal.
  package struct Overlay {
    package var file: ByteFile
    package var member: Finding.Member
    package var offsets: [UInt32: Int64]
    /// The index of a write-ahead log, by which the pages in `file` are found, up to ``LogIndex/frameLimit``. Nil if
    /// `offsets` is used instead.
    var history: LogIndex?

    package init(
      file: ByteFile, member: Finding.Member, offsets: [UInt32: Int64], history: LogIndex? = nil
    ) {
      self.file = file
      self.member = member
      self.offsets = offsets
      self.history = history
    }

    /// Returns the offset of a page's content in ``file``; nil when the overlay does not contain the page.
    @inline(__always)
    package func offset(of page: UInt32) -> Int64? {
      if let history { return history.offset(of: page) }
      return offsets[page]
    }

    /// The number of pages in the overlay. If `history` is used, this is only an upper limit.
    var count: Int { history?.count ?? offsets.count }

    /// The highest page number in the overlay; 0 when the overlay has no pages.
    package var highestPage: UInt32 { history?.highestPage ?? offsets.keys.max() ?? 0 }
  }

  package let main: ByteFile
  package let pageSize: Int
  /// The number of bytes of a page that can have content: the page size minus the reserved bytes.
  package let usableSize: Int
  /// The highest page number in the main file, the write-ahead log and the rollback journal.
  package let pageLimit: UInt32
  /// The number of stored pages. A page that is in both the main file and an overlay is counted twice.
  package let storedPageCount: Int
  /// The offset of page 1 in the main file, in bytes. It is positive if other bytes precede page 1, and negative if the
  /// start of the file is cut off.
  package let origin: Int64
  /// The number of the page within which the main file ends. The missing part of this page is read as zeros, as SQLite
  /// reads it. 0 if there is no such page, or if no zeros are added.
  package internal(set) var cutPage: UInt32 = 0
  /// The place in the main file at which bytes were lost or inserted, so that all later pages are at other offsets. Nil
  /// if no such place is known.
  private let shift: PageShift?
  /// The lowest page number that may be affected by ``shift``. All pages with lower numbers are at their usual offsets.
  private let firstDoubtful: UInt32
  private let overlays: [Overlay]
  private var windows = WindowCache()
  /// The minimum length of a hole that is skipped, in bytes. Shorter holes are read like other bytes.
  private static let minHole = 1 << 20
  /// The page number at which ``nextStored(from:)`` looks for a hole of a sparse file again. For lower page numbers, it
  /// does not look for holes.
  private var nextLook: UInt32 = 0

  package init(
    main: ByteFile, pageSize: Int, usableSize: Int, pageLimit: UInt32, origin: Int64 = 0,
    shift: PageShift? = nil, overlays: [Overlay]
  ) {
    self.main = main
    self.origin = origin
    self.shift = shift
    firstDoubtful = shift?.doubtful.lowerBound ?? .max
    self.pageSize = pageSize
    self.usableSize = usableSize
    self.pageLimit = pageLimit
    self.overlays = overlays
    let mainPageCount = (main.size + Int64(pageSize) - 1) / Int64(pageSize)
    storedPageCount = overlays.reduce(Int(mainPageCount)) { $0 + $1.count }
  }

  /// Creates another reader of the same files, for another thread.
  package func another() -> PageReader {
    var other = PageReader(
      main: main, pageSize: pageSize, usableSize: usableSize, pageLimit: pageLimit,
      origin: origin, shift: shift, overlays: overlays)
    other.cutPage = cutPage
    return other
  }

  /// Announces that the pages of a range are read next. Reading ahead stops at the end of the range, because another
  /// reader reads the pages after the range.
  package mutating func expect(_ pages: Range<UInt32>) {
    let start = origin + (Int64(pages.lowerBound) - 1) * Int64(pageSize)
    windows.expect(start..<start + Int64(pages.count) * Int64(pageSize))
  }

  package typealias Place = (member: Finding.Member, offset: Int64)

  /// Returns the location of a page's bytes. If no file contains the page, the location is the offset in the main file
  /// at which the page would be.
  package func location(of page: UInt32) -> Place {
    for overlay in overlays {
      if let offset = overlay.offset(of: page) { return (overlay.member, offset) }
    }
    let offset = origin + (Int64(page) - 1) * Int64(pageSize)
    switch shift?.reading(of: page, at: offset) {
    case nil, .lost: return (.main, offset)
    case .inFile(let offset): return (.main, offset)
    case .torn(let leaf): return (.main, leaf.offset)
    }
  }

  /// Returns how many bytes of the page `number` the main file contains: the page size, or fewer if the file ends
  /// within the page.
  package func storedLength(of number: UInt32) -> Int {
    guard number == cutPage, number > 0 else { return pageSize }
    return min(pageSize, Int(clamping: max(0, main.size - location(of: number).offset)))
  }

  /// Returns the bytes of a page; nil when the page number is impossible, or when the file ends before the page. If the
  /// file ends within the page ``cutPage``, zeros replace the missing bytes. If the file ends within another page, the
  /// result is nil.
  @_lifetime(&self)
  package mutating func page(_ number: UInt32) throws(SQLiteFileError) -> RawSpan? {
    guard number >= 1, number <= pageLimit else { return nil }
    for (index, overlay) in overlays.enumerated() {
      guard let offset = overlay.offset(of: number) else { continue }
      let bytes = unsafe try windows.bytes(
        of: overlay.file, source: index + 1, at: offset, count: pageSize)
      return unsafe span(bytes)
    }
    var offset = origin + (Int64(number) - 1) * Int64(pageSize)
    if number >= firstDoubtful, let shift {
      switch shift.reading(of: number, at: offset) {
      case .inFile(let moved): offset = moved
      case .torn(let leaf):
        let held = unsafe windows.hold(leaf.bytes)
        return unsafe span(held)
      case .lost: return nil
      }
    }
    guard offset >= 0 else { return nil }
    let bytes = unsafe try windows.bytes(of: main, source: 0, at: offset, count: pageSize)
    guard number == cutPage else { return unsafe span(bytes) }
    let rest = repeatElement(UInt8(0), count: pageSize - bytes.count)
    let held = unsafe windows.hold(ContiguousArray(bytes) + rest)
    return unsafe span(held)
  }

  /// Copies a page into `buffer`, so that other pages can be read while this page is examined.
  /// - Returns: the number of the page's bytes that exist, which may be 0. If the file ends within the page, the rest
  ///   of the buffer is filled with zeros.
  package mutating func copy(_ number: UInt32, into buffer: inout ContiguousArray<UInt8>)
    throws(SQLiteFileError) -> Int
  {
    buffer.removeAll(keepingCapacity: true)
    let size = pageSize
    do {
      if number != cutPage, let page = try page(number) {
        unsafe page.withUnsafeBytes { unsafe buffer.append(contentsOf: $0) }
        return size
      }
    }
    guard number >= 1, number <= pageLimit, shift?.doubtful.contains(number) != true else {
      return 0
    }
    let place = location(of: number)
    guard place.member == .main, place.offset >= 0, place.offset < main.size else { return 0 }
    buffer.append(contentsOf: try main.bytes(at: place.offset, count: pageSize))
    let count = buffer.count
    buffer.append(contentsOf: repeatElement(0, count: pageSize - count))
    return count
  }

  /// Returns the first page, from `number` on, that may contain data. All pages from `number` up to that page are in a
  /// hole of a sparse file.
  package mutating func nextStored(from number: UInt32) -> UInt32 {
    // Holes are only looked for from time to time. Pages in a hole that was not noticed are read as zeros.
    guard number >= nextLook, number >= 1 else { return number }
    let step = UInt32(Self.minHole / pageSize)
    nextLook = number.addingReportingOverflow(step).partialValue
    let offset = origin + (Int64(number) - 1) * Int64(pageSize)
    guard offset >= 0, offset < main.size, shift == nil,
      overlays.allSatisfy({ $0.history == nil })
    else { return number }
    let next = (main.nextData(from: offset) - origin) / Int64(pageSize) + 1
    guard next > Int64(number) + Int64(step) else { return number }
    // A log or journal may contain pages that are in the hole of the main file.
    var stored = UInt32(clamping: next)
    for overlay in overlays {
      stored = min(stored, overlay.offsets.keys.filter { $0 >= number }.min() ?? stored)
    }
    nextLook = max(stored, nextLook)
    return stored
  }

  /// Returns the kind of a b-tree page; nil when the page is not a b-tree page or does not exist.
  package mutating func kind(of number: UInt32) throws(SQLiteFileError) -> BTreePage.Kind? {
    let usableSize = usableSize
    guard let page = try page(number) else { return nil }
    return try? BTreePage(parsing: page, number: number, usableSize: usableSize).kind
  }

  @_lifetime(&self)
  private mutating func span(_ bytes: UnsafeRawBufferPointer) -> RawSpan? {
    guard bytes.count == pageSize else { return nil }
    // The memory of the windows lives as long as the reader. Their content stays unchanged until the next call of the
    // reader, and the exclusive borrow prevents such a call while this span is in use.
    return unsafe _overrideLifetime(RawSpan(_unsafeBytes: bytes), mutating: &self)
  }
}

/// A cache of eight windows into the files of a store. A new window replaces the least recently used one.
///
/// A window starts small, because reading ahead is only useful for sequential reading. It grows as long as the bytes
/// after it are requested next.
@safe private struct WindowCache: ~Copyable {
  private static let slotCount = 8
  private static let slotLength = 128 * 1024
  private static let firstLength = 16 * 1024

  private struct Slot {
    var source = -1
    var start: Int64 = 0
    var count = 0
    var nextLength = WindowCache.firstLength
    var lastUse: UInt64 = 0
  }

  private let memory: UnsafeMutableRawPointer
  private var slots = [Slot](repeating: Slot(), count: slotCount)
  private var current = 0
  private var clock: UInt64 = 0
  /// The range of the main file that the caller has announced. It is read into the window ``expectedSlot``, with a
  /// single call if it fits.
  private var expected: Range<Int64> = 0..<0
  private var expectedSlot = 0

  init() {
    unsafe memory = UnsafeMutableRawPointer.allocate(
      byteCount: Self.slotCount * Self.slotLength, alignment: 64)
  }

  deinit { unsafe memory.deallocate() }

  /// Returns the `count` bytes of `file` from `offset` on; fewer at the end of the file. `count` is at most 65,536 (one
  /// page).
  mutating func bytes(of file: ByteFile, source: Int, at offset: Int64, count: Int)
    throws(SQLiteFileError) -> UnsafeRawBufferPointer
  {
    if let found = unsafe find(source, offset, count, in: current) { return unsafe found }
    // While a window remains the current one, its uses are not recorded. This use is recorded before another window
    // becomes current.
    noteUse(of: current)
    for index in 0..<Self.slotCount where index != current {
      if let found = unsafe find(source, offset, count, in: index) {
        current = index
        noteUse(of: index)
        return unsafe found
      }
    }
    return unsafe try load(file, source, offset, count)
  }

  mutating func expect(_ part: Range<Int64>) { expected = part }

  /// Stores a rebuilt page, which no file contains.
  mutating func hold(_ page: ContiguousArray<UInt8>) -> UnsafeRawBufferPointer {
    var victim = 0
    for index in 0..<Self.slotCount where slots[index].lastUse < slots[victim].lastUse {
      victim = index
    }
    slots[victim] = Slot()
    noteUse(of: victim)
    let count = min(page.count, Self.slotLength)
    let place = unsafe UnsafeMutableRawBufferPointer(
      start: memory + victim * Self.slotLength, count: count)
    unsafe place.copyBytes(from: page.prefix(count))
    return UnsafeRawBufferPointer(place)
  }

  private mutating func noteUse(of index: Int) {
    clock &+= 1
    slots[index].lastUse = clock
  }

  private func find(_ source: Int, _ offset: Int64, _ count: Int, in index: Int)
    -> UnsafeRawBufferPointer?
  {
    let slot = slots[index]
    guard slot.source == source, offset >= slot.start,
      offset + Int64(count) <= slot.start + Int64(slot.count)
    else { return nil }
    return unsafe UnsafeRawBufferPointer(
      start: memory + index * Self.slotLength + Int(offset - slot.start), count: count)
  }

  private mutating func load(_ file: ByteFile, _ source: Int, _ offset: Int64, _ count: Int)
    throws(SQLiteFileError) -> UnsafeRawBufferPointer
  {
    var length = Self.firstLength
    var victim = 0
    var predecessor: Int?
    for index in 0..<Self.slotCount {
      let slot = slots[index]
      let end = slot.start + Int64(slot.count)
      if slot.source == source, offset >= slot.start, offset <= end + Int64(Self.firstLength) {
        length = slot.nextLength
        predecessor = index
      }
      if slot.lastUse < slots[victim].lastUse { victim = index }
    }
    // A sequential reader reuses the memory of its previous window, because that memory is in the processor's cache.
    if length == Self.slotLength, let predecessor { victim = predecessor }
    // The announced range is read at once, and always into the same memory.
    if source == 0, expected.contains(offset) {
      length = Int(min(expected.upperBound - offset, Int64(Self.slotLength)))
      victim = expectedSlot
    }
    length = min(max(length, count), Self.slotLength)
    let base = unsafe memory + victim * Self.slotLength
    slots[victim].source = -1
    let got = unsafe try file.read(
      at: offset, into: UnsafeMutableRawBufferPointer(start: base, count: length))
    clock &+= 1
    slots[victim] = Slot(
      source: source, start: offset, count: got, nextLength: min(length * 2, Self.slotLength),
      lastUse: clock)
    current = victim
    return unsafe UnsafeRawBufferPointer(start: base, count: min(got, count))
  }
}
