import CLibrary
public import SQLiteFile
import Quoting
import SafeText

/// Gathers bytes and writes them to a file descriptor, 256 KiB at a time.
///
/// No function throws when a write fails, so that the loop over rows needs no error handling. ``finish()`` throws the
/// error of a failed write. A long loop can check ``isBroken`` to end early.
@usableFromInline @safe package struct OutputBuffer: ~Copyable {
  private let descriptor: Int32?
  /// The maximum number of bytes in the buffer.
  @usableFromInline package let capacity: Int
  @usableFromInline var memory: UnsafeMutableRawPointer
  @usableFromInline var template = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
  @usableFromInline var templateCount = 0
  @usableFromInline package private(set) var count = 0
  private var failure: Int32 = 0
  /// The turn that this buffer waits for before it writes, so that the output of several threads stays in order; nil
  /// for a buffer that writes at any time.
  private let turn: OutputTurn?
  /// Escapes the characters that a terminal must not receive; nil when the descriptor is not a terminal.
  private var terminal: TerminalText?
  /// The number of bytes handed to the system so far.
  package private(set) var writtenCount: Int64 = 0

  /// Makes a buffer for an open descriptor, which the buffer does not close. If the descriptor is a terminal,
  /// characters that a terminal would obey or hide are escaped. If `isTerminal` is nil, the system says whether the
  /// descriptor is a terminal.
  package init(descriptor: Int32, isTerminal: Bool? = nil) {
    self.init(
      descriptor: descriptor, capacity: 256 * 1024, turn: nil,
      isTerminal: isTerminal ?? (isatty(descriptor) == 1))
  }

  /// Makes a buffer without a descriptor, which keeps its bytes until another buffer takes them. When more than
  /// `capacity` bytes are appended, the buffer becomes broken (``isBroken``).
  package init(capacity: Int) {
    self.init(descriptor: nil, capacity: capacity, turn: nil, isTerminal: false)
  }

  /// Makes an empty buffer for the same descriptor. If `turn` is not nil, the new buffer writes nothing before its turn
  /// has come. If it is full before that, the thread that appends to it waits for the turn.
  package func another(capacity: Int, turn: OutputTurn?) -> OutputBuffer {
    OutputBuffer(
      descriptor: descriptor, capacity: capacity, turn: turn, isTerminal: terminal != nil)
  }

  /// Makes a buffer of 4 MiB without a file descriptor, for the output of one block of rows. Rows take about twice the
  /// space in the output that they take on a page.
  package static func ofBlock() -> OutputBuffer { OutputBuffer(capacity: 4 << 20) }

  /// Exchanges the bytes in this buffer with the bytes in `other`. Does nothing when the two buffers differ in
  /// capacity.
  package mutating func exchange(with other: inout OutputBuffer) {
    guard capacity == other.capacity else { return }
    unsafe swap(&memory, &other.memory)
    swap(&count, &other.count)
  }

  private init(descriptor: Int32?, capacity: Int, turn: OutputTurn?, isTerminal: Bool) {
    self.descriptor = descriptor
    terminal = isTerminal ? TerminalText() : nil
    self.turn = turn
    self.capacity = capacity
    unsafe memory = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 64)
  }

  /// Appends the bytes of `other`, and empties `other`. `other` must be a buffer without a file descriptor.
  package mutating func append(movingFrom other: inout OutputBuffer) {
    unsafe append(buffer: UnsafeRawBufferPointer(start: other.memory, count: other.count))
    other.removeAll()
  }

  /// Calls `body` with the buffered bytes, and then drops them.
  package mutating func drain<E: Error>(_ body: (RawSpan) throws(E) -> Void) throws(E) {
    defer { count = 0 }
    try body(unsafe RawSpan(_unsafeStart: memory, byteCount: count))
  }

  /// Drops the buffered bytes, and forgets a failed write.
  package mutating func removeAll() {
    count = 0
    failure = 0
  }

  deinit {
    unsafe memory.deallocate()
    unsafe template.deallocate()
  }

  /// Whether a write has failed. Bytes appended after that are dropped.
  package var isBroken: Bool { failure != 0 }

  /// Makes room for `bytes` more bytes (at most the capacity), by writing the buffered bytes if necessary.
  @inlinable @inline(__always)
  mutating func reserve(_ bytes: Int) {
    if count &+ bytes > capacity { flush() }
  }

  /// Makes room for `bytes` more bytes and returns the current position, which can be passed to ``takeBack(to:)``. Nil
  /// when `bytes` exceeds the capacity of the buffer.
  @inlinable @inline(__always)
  package mutating func mark(for bytes: Int) -> Int? {
    guard bytes <= capacity else { return nil }
    reserve(bytes)
    return count
  }

  /// Drops all bytes appended since ``mark(for:)`` returned `mark`.
  package mutating func takeBack(to mark: Int) { count = mark }

  // For many small pieces in a row, the position is kept in a local variable: `room` reserves space, `put` writes,
  // `advance` commits.

  /// Reserves space for `bytes` more bytes, and returns the position of the first of them. Eight further bytes are
  /// reserved, because `put` always writes whole words.
  @inlinable @inline(__always)
  package mutating func room(for bytes: Int) -> Int {
    reserve(bytes &+ 8)
    return count
  }

  /// Writes the eight bytes of a word, the lowest first, at a position in the buffer. Does nothing if they do not fit.
  @inlinable @inline(__always)
  package mutating func put(_ word: UInt64, at position: Int) {
    guard position >= 0, position &+ 8 <= capacity else { return }
    unsafe memory.storeBytes(of: word.littleEndian, toByteOffset: position, as: UInt64.self)
  }

  /// Writes 32 bytes, the lowest byte of each lane first, at a position in the buffer. Does nothing if they do not fit.
  @inlinable @inline(__always)
  package mutating func put(_ block: SIMD4<UInt64>, at position: Int) {
    guard position >= 0, position &+ 32 <= capacity else { return }
    let ordered = SIMD4(
      block.x.littleEndian, block.y.littleEndian, block.z.littleEndian, block.w.littleEndian)
    unsafe memory.storeBytes(of: ordered, toByteOffset: position, as: SIMD4<UInt64>.self)
  }

  /// Ends a series of calls of `put`: the content of the buffer now ends at `position`.
  @inlinable @inline(__always)
  package mutating func advance(to position: Int) {
    count = min(position, capacity)
  }

  @inlinable @inline(__always)
  package mutating func append(_ byte: UInt8) {
    reserve(1)
    unsafe memory.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count &+= 1
  }

  /// The maximum length in bytes of a literal for which ``append(literal:of:)`` copies a block of fixed length.
  @inlinable package static var shortLiteral: Int { 32 }

  /// Appends the bytes in a range of `literals`. A range of at most ``shortLiteral`` bytes is copied as one block of
  /// ``shortLiteral`` bytes, if `literals` has that many bytes from the start of the range on.
  @inlinable @inline(__always)
  package mutating func append(literal range: Range<Int>, of literals: ContiguousArray<UInt8>) {
    let bytes = literals.rawSpan
    guard range.count <= Self.shortLiteral,
      range.lowerBound <= bytes.byteCount &- Self.shortLiteral
    else { return append(bytes.part(range.lowerBound, range.count)) }
    let cursor = room(for: Self.shortLiteral)
    put(bytes.block(at: range.lowerBound), at: cursor)
    advance(to: cursor &+ range.count)
  }

  /// Appends the first `length` (1 to 8) bytes of a word, in the order in which they are in memory.
  @inlinable @inline(__always)
  package mutating func append(word: UInt64, length: Int) {
    reserve(8)
    unsafe memory.storeBytes(of: word, toByteOffset: count, as: UInt64.self)
    count &+= length
  }

  @usableFromInline
  package mutating func append(_ bytes: RawSpan) {
    unsafe bytes.withUnsafeBytes { unsafe append(buffer: $0) }
  }

  package mutating func append(_ bytes: [UInt8]) {
    unsafe bytes.withUnsafeBytes { unsafe append(buffer: $0) }
  }

  /// Sets the template: the bytes that ``appendTemplate()`` appends at the start of each row.
  package mutating func setTemplate(_ bytes: String) {
    let bytes = Array(bytes.utf8)
    unsafe template.deallocate()
    // The template is padded to whole words, so that it can be copied a word at a time.
    unsafe template = UnsafeMutableRawBufferPointer.allocate(
      byteCount: (bytes.count + 7) & ~7, alignment: 8)
    unsafe template.copyBytes(from: bytes)
    templateCount = bytes.count
  }

  package mutating func appendTemplate() {
    guard templateCount < 256, let source = unsafe template.baseAddress else {
      return unsafe append(buffer: UnsafeRawBufferPointer(rebasing: template[..<templateCount]))
    }
    reserve(256)
    var offset = 0
    while offset < templateCount {
      let word = unsafe source.load(fromByteOffset: offset, as: UInt64.self)
      unsafe memory.storeBytes(of: word, toByteOffset: count &+ offset, as: UInt64.self)
      offset &+= 8
    }
    count &+= templateCount
  }

  /// The number of bytes that ``putTemplate(at:)`` needs, including the padding of the last word; nil when the template
  /// has 256 bytes or more, which ``putTemplate(at:)`` cannot write.
  package var templateLength: Int? { templateCount < 256 ? templateCount &+ 8 : nil }

  /// Copies the template to `cursor`, where ``templateLength`` bytes must be free. Returns the position after the copy.
  @inlinable @inline(__always)
  package mutating func putTemplate(at cursor: Int) -> Int {
    guard templateCount < 256, let source = unsafe template.baseAddress else { return cursor }
    var offset = 0
    while offset < templateCount {
      put(
        UInt64(littleEndian: unsafe source.load(fromByteOffset: offset, as: UInt64.self)),
        at: cursor &+ offset)
      offset &+= 8
    }
    return cursor &+ templateCount
  }

  package mutating func append(_ string: consuming String) {
    string.withUTF8 { unsafe append(buffer: UnsafeRawBufferPointer($0)) }
  }

  private mutating func append(buffer: UnsafeRawBufferPointer) {
    guard let base = buffer.baseAddress, buffer.count > 0 else { return }
    var done = 0
    while done < buffer.count {
      if count == capacity { flush() }
      let part = min(buffer.count - done, capacity - count)
      unsafe (memory + count).copyMemory(from: base + done, byteCount: part)
      count += part
      done += part
    }
  }

  @inlinable @inline(__always)
  package mutating func append(integer value: Int64) {
    advance(to: put(integer: value, at: room(for: Self.longestInteger)))
  }

  /// The number of bytes that must be free before ``put(integer:at:)`` is called. This is more than the longest integer
  /// needs, because the last eight bytes are always written together.
  @inlinable package static var longestInteger: Int { 32 }

  /// Writes a decimal integer at `cursor`, where ``longestInteger`` bytes must be free. Returns the position after it.
  @inlinable @inline(__always)
  package mutating func put(integer value: Int64, at cursor: Int) -> Int {
    let number = UInt64(bitPattern: value)
    guard number < 10_000 else { return put(longInteger: value, at: cursor) }
    return put(lastDigits: Self.fourDigits(number), of: 4, Self.count(four: number), at: cursor)
  }

  /// An integer with its decimal digits. The digits are computed once and can be written several times.
  @usableFromInline package struct Digits {
    @usableFromInline let value: Int64
    /// The ASCII digits, the first digit in the lowest byte. `count` is the number of digits. For a negative integer,
    /// and for an integer of more than eight digits, `word` and `count` are 0.
    @usableFromInline let word: UInt64
    @usableFromInline let count: Int

    @inlinable @inline(__always)
    package init(_ value: Int64) {
      self.value = value
      let number = UInt64(bitPattern: value)
      guard number < 100_000_000 else {
        word = 0
        count = 0
        return
      }
      count = OutputBuffer.count(eight: number)
      word = OutputBuffer.last(count, of: 8, OutputBuffer.digits(number))
    }
  }

  /// Writes an integer at `cursor` in the same form as ``put(integer:at:)``, from digits that are already known.
  /// Returns the position after the integer.
  @inlinable @inline(__always)
  package mutating func put(_ digits: Digits, at cursor: Int) -> Int {
    guard digits.count > 0 else { return put(longInteger: digits.value, at: cursor) }
    put(digits.word, at: cursor)
    return cursor &+ digits.count
  }

  @inline(never)
  @usableFromInline mutating func put(longInteger value: Int64, at start: Int) -> Int {
    var cursor = start
    if value < 0 {
      put(UInt64(UInt8(ascii: "-")), at: cursor)
      cursor &+= 1
    }
    let magnitude = value.magnitude
    if magnitude < 100_000_000 { return putLeading(magnitude, at: cursor) }
    let (high, low) = magnitude.quotientAndRemainder(dividingBy: 100_000_000)
    if high < 100_000_000 {
      cursor = putLeading(high, at: cursor)
    } else {
      cursor = putLeading(high / 100_000_000, at: cursor)
      cursor = put(last: 8, of: high % 100_000_000, at: cursor)
    }
    return put(last: 8, of: low, at: cursor)
  }

  /// Writes the last `count` of the eight decimal digits of `value` at `cursor`, leading zeros included. Returns the
  /// position after these digits.
  @inlinable @inline(__always)
  package mutating func put(last count: Int, of value: UInt64, at cursor: Int) -> Int {
    put(lastDigits: Self.digits(value), of: 8, count, at: cursor)
  }

  /// Appends a decimal point and a fraction in millionths (0 to 999,999), without trailing zeros but with at least one
  /// digit.
  package mutating func append(fraction millionths: UInt64) {
    advance(to: put(fraction: millionths, at: room(for: 8)))
  }

  /// Writes at `cursor` what ``append(fraction:)`` would append, and returns the position after it.
  @inlinable @inline(__always)
  package mutating func put(fraction millionths: UInt64, at cursor: Int) -> Int {
    // The first two of the eight digits are 0; the point replaces the second.
    let digits = Self.digits(millionths) >> 8
    put((digits | Self.zeros) & ~0xff | 0x2e, at: cursor)
    return cursor &+ max(2, 8 &- digits.leadingZeroBitCount >> 3)
  }

  @inlinable static var zeros: UInt64 { 0x3030_3030_3030_3030 }

  /// Writes a number below 100,000,000 at `cursor` without leading zeros, and returns the position after the number.
  @inlinable @inline(__always)
  mutating func putLeading(_ value: UInt64, at cursor: Int) -> Int {
    put(lastDigits: Self.digits(value), of: 8, Self.count(eight: value), at: cursor)
  }

  /// Returns the number of decimal digits of `value`, which must be below 10,000. The computation has no branches,
  /// because branches on the length would be hard to predict.
  @inlinable @inline(__always)
  static func count(four value: UInt64) -> Int {
    Int(truncatingIfNeeded: 1 &+ (9 &- value) >> 63 &+ (99 &- value) >> 63 &+ (999 &- value) >> 63)
  }

  /// Returns the number of digits of a number below 100,000,000.
  @inlinable @inline(__always)
  static func count(eight value: UInt64) -> Int {
    let more = (9_999 &- value) >> 63 &+ (99_999 &- value) >> 63
    let most = (999_999 &- value) >> 63 &+ (9_999_999 &- value) >> 63
    return count(four: value) &+ Int(truncatingIfNeeded: more &+ most)
  }

  /// Writes the last `used` of `count` digits at `cursor` as ASCII, and returns the position after them. `digits` has
  /// one digit in each byte, the first digit in the lowest byte.
  @inlinable @inline(__always)
  mutating func put(
    lastDigits digits: UInt64, of count: Int, _ used: Int, at cursor: Int
  ) -> Int {
    put(Self.last(used, of: count, digits), at: cursor)
    return cursor &+ used
  }

  /// Returns the last `used` decimal digits of a number as ASCII characters in one word. `digits` has the `count`
  /// digits of the number, one in each byte, the first digit in the lowest byte.
  @inlinable @inline(__always)
  static func last(_ used: Int, of count: Int, _ digits: UInt64) -> UInt64 {
    (digits | zeros) &>> UInt64(truncatingIfNeeded: (count &- used) &* 8)
  }

  /// Returns the four decimal digits of a number below 10,000, in the form of ``digits(_:)``.
  @inlinable @inline(__always)
  static func fourDigits(_ value: UInt64) -> UInt64 {
    let hundreds = (value &* 10_486) >> 20
    let pairs = (value &- hundreds &* 100) << 16 | hundreds
    let tens = (pairs &* 103) >> 10 & 0x000f_000f
    return (pairs &- tens &* 10) << 8 | tens
  }

  /// Returns the eight digits of a number below 100,000,000, one in each byte, the first digit in the lowest byte. The
  /// number is split into halves by 10,000, then each half by 100, then each quarter by 10. Each step splits all parts
  /// at the same time.
  @inlinable @inline(__always)
  static func digits(_ value: UInt64) -> UInt64 {
    let halves = value / 10_000 | (value % 10_000) << 32
    let hundreds = (halves &* 10_486) >> 20 & 0x0000_007f_0000_007f
    let pairs = (halves &- hundreds &* 100) << 16 | hundreds
    let tens = (pairs &* 103) >> 10 & 0x000f_000f_000f_000f
    return (pairs &- tens &* 10) << 8 | tens
  }

  /// Writes bytes as lower-case hexadecimal digits at `start`, where two bytes for each byte and 32 more must be free.
  /// Returns the position after the digits.
  @inlinable @inline(__always)
  package mutating func put(hexadecimal bytes: RawSpan, at start: Int) -> Int {
    let end = bytes.byteCount
    var cursor = start
    var offset = 0
    while offset &+ 16 <= end {
      put(Self.hexadecimal(bytes.spread(at: offset)), at: cursor)
      cursor &+= 32
      offset &+= 16
    }
    while offset < end {
      put(Self.hexadecimal(bytes.byte(at: offset)), at: cursor)
      cursor &+= 2
      offset &+= 1
    }
    return cursor
  }

  /// Returns the 32 hexadecimal digits of 16 bytes. In `pairs`, a zero byte follows each of these bytes.
  @inlinable @inline(__always)
  static func hexadecimal(_ pairs: SIMD4<UInt64>) -> SIMD4<UInt64> {
    // Each byte and the zero after it become its two nibbles.
    let nibbles = (pairs &>> 4 | pairs &<< 8) & 0x0f0f_0f0f_0f0f_0f0f
    // The letter for 10 is 39 code points above the character that follows the digit 9. In each byte that becomes a
    // letter, the addition sets the top bit; the subtraction makes 127 of that bit, and the mask makes 39 of the 127.
    let tops = (nibbles &+ 0x7676_7676_7676_7676) & 0x8080_8080_8080_8080
    let letters = (tops &- tops &>> 7) & 0x2727_2727_2727_2727
    return nibbles &+ 0x3030_3030_3030_3030 &+ letters
  }

  /// Returns the two hexadecimal digits of a byte, the first in the lowest byte of the word.
  @inlinable @inline(__always)
  static func hexadecimal(_ byte: UInt8) -> UInt64 {
    // A nibble in each byte, then to a digit: 0-9 add 48, a-f add 39 more.
    let nibbles = UInt64(byte) >> 4 | (UInt64(byte) & 0xf) << 8
    let letters = ((nibbles &+ 0x0606) >> 4 & 0x0101) &* 39
    return nibbles &+ 0x3030 &+ letters
  }

  /// Appends bytes as lower-case hexadecimal digits.
  package mutating func append(hexadecimal bytes: RawSpan) {
    var offset = 0
    let end = bytes.byteCount
    while offset < end {
      let part = min(end &- offset, 4096)
      advance(
        to: put(hexadecimal: bytes.part(offset, part), at: room(for: part &* 2 &+ 32)))
      offset &+= part
    }
  }

  /// Writes the buffered bytes and empties the buffer. Without a descriptor, the bytes are dropped and the buffer is
  /// broken.
  @inline(never)
  @usableFromInline package mutating func flush() {
    guard count > 0 else { return }
    // Nothing may be written after another thread has stopped the work.
    if let turn, !turn.come() { count = 0 }
    guard let descriptor else {
      if count > 0 { failure = ENOBUFS }
      count = 0
      return
    }
    if terminal != nil {
      writeEscaped(isEnd: false, to: descriptor)
    } else {
      unsafe send(UnsafeRawBufferPointer(start: memory, count: count), to: descriptor)
    }
    count = 0
  }

  private mutating func writeEscaped(isEnd: Bool, to descriptor: Int32) {
    let raw = unsafe UnsafeRawBufferPointer(start: memory, count: count)
    let bytes = unsafe terminal?.escaped(raw, isEnd: isEnd) ?? []
    unsafe bytes.withUnsafeBytes { unsafe send($0, to: descriptor) }
  }

  private mutating func send(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) {
    guard let base = bytes.baseAddress else { return }
    var done = 0
    while done < bytes.count, failure == 0 {
      let written = unsafe write(descriptor, base + done, bytes.count - done)
      if written < 0 {
        if errno == EINTR { continue }
        if errno == EAGAIN {
          var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          unsafe _ = poll(&wait, 1, 1000)
          continue
        }
        failure = errno
      } else {
        done += written
        writtenCount += Int64(written)
      }
    }
  }

  /// Writes the bytes that are still in the buffer.
  /// - Throws: ``SQLiteFileError`` when this or any earlier write failed.
  package mutating func finish() throws(SQLiteFileError) {
    flush()
    if terminal != nil, let descriptor { writeEscaped(isEnd: true, to: descriptor) }
    guard failure != 0 else { return }
    if failure == EPIPE {
      throw SQLiteFileError(
        .outputClosed, "the program that reads the output has closed it", systemError: EPIPE)
    }
    throw SQLiteFileError(
      .output, "cannot write the output: \(unsafe String(cString: strerror(failure)))",
      systemError: failure)
  }
}
