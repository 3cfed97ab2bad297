/// Merges sorted pieces of strings into one sorted sequence. The last piece is in memory, all others are in a temporary
/// file.
struct KeyMerge {
  private struct Cursor {
    /// The part of the piece that has not been read yet, as a range of offsets in the temporary file.
    var rest: Range<Int64>
    /// The index in `memory` at which the bytes that were read from the piece end.
    var end: Int
    /// The string at the cursor. `entry` has its first sixteen bytes; the other bytes are in `memory`.
    var entry = KeyEntry.none
    var key: Range<Int>
    var isAtEnd = false
  }

  private var cursors: ContiguousArray<Cursor>
  /// The last piece of the sorted keys. It is in memory, not in a file.
  private var last: KeyPiece
  /// The bytes of the pieces that are in memory now. Each piece has a section of `part` bytes.
  private var memory: ContiguousArray<UInt8>
  private let part: Int
  private let waiting: WaitingKeys
  /// The inner nodes of a loser tree whose leaves are the pieces. Each inner node holds the index of the piece that has
  /// lost there, because its string comes later. (Knuth, "The Art of Computer Programming", volume 3, section 5.4.1.)
  private var losers: ContiguousArray<Int>
  /// The index of the piece whose current string comes first.
  private var winner = 0
  private var hasBegun = false

  private static let memoryBytes = 512 << 10
  private static let minPartBytes = 4 << 10
  private static let maxPartBytes = 64 << 10

  /// Prepares to merge the `pieces`, which are in the temporary file, and the piece `last`, which is in memory. If
  /// there are too many pieces for the memory, groups of pieces are first merged into longer pieces in the file.
  /// `longest`: the length of the longest string in bytes.
  init(_ pieces: [Range<Int64>], _ last: KeyPiece, longest: Int, _ waiting: WaitingKeys)
    throws(SQLiteWriterError)
  {
    let room = KeyPiece.lengthBytes + max(longest, KeyEntry.inlineBytes)
    let least = max(Self.minPartBytes, room)
    let most = Self.memoryBytes / least
    var pieces = pieces
    while pieces.count >= most {
      var fewer: [Range<Int64>] = []
      for start in stride(from: 0, to: pieces.count, by: most) {
        var merge = KeyMerge(
          pieces[start..<min(start + most, pieces.count)], KeyPiece(), part: least, waiting)
        fewer.append(try merge.putAside())
      }
      pieces = fewer
    }
    let part = min(Self.maxPartBytes, Self.memoryBytes / (pieces.count + 1))
    self.init(pieces[...], last, part: max(least, part), waiting)
  }

  private init(
    _ pieces: ArraySlice<Range<Int64>>, _ last: KeyPiece, part: Int, _ waiting: WaitingKeys
  ) {
    cursors = []
    for rest in pieces + [0..<0] {
      let start = cursors.count * part
      cursors.append(Cursor(rest: rest, end: start, key: start..<start))
    }
    memory = ContiguousArray(repeating: 0, count: cursors.count * part + KeyEntry.inlineBytes)
    losers = ContiguousArray(repeating: 0, count: cursors.count)
    self.last = last
    self.part = part
    self.waiting = waiting
  }

  /// Moves on to the next string of the merged sequence. Returns false when no string is left.
  @inline(__always)
  mutating func next() throws(SQLiteWriterError) -> Bool {
    if hasBegun {
      try advance(winner)
      if cursors.count > 1 { play(winner) }
    } else {
      try begin()
    }
    return !cursors[winner].isAtEnd
  }

  /// The current string. It is only valid after ``next()`` has returned true.
  var key: RawSpan {
    @_lifetime(borrow self)
    @inline(__always)
    get { unsafe memory.span.bytes.extracting(cursors[winner].key) }
  }

  /// Merges all pieces into one new piece in the temporary file, and returns its range in the file.
  private mutating func putAside() throws(SQLiteWriterError) -> Range<Int64> {
    var isThere = try next()
    return try waiting.append { out throws(SQLiteWriterError) in
      var place = 0
      while isThere {
        let key = cursors[winner].key
        guard place + KeyPiece.lengthBytes + key.count <= out.count else { break }
        // The length of a string is stored before the string.
        let range = key.lowerBound - KeyPiece.lengthBytes..<key.upperBound
        out.copy(memory, range, to: place)
        place += range.count
        isThere = try next()
      }
      return place
    }
  }

  // MARK: - Pieces

  /// Advances to the next string of the sorted piece at `index`. After the last string, marks the piece as ended.
  @inline(__always)
  private mutating func advance(_ index: Int) throws(SQLiteWriterError) {
    if !hasNext(index), try !read(index) {
      cursors[index].isAtEnd = true
      return
    }
    let start = cursors[index].key.upperBound + KeyPiece.lengthBytes
    let key = start..<start + length(at: cursors[index].key.upperBound)
    cursors[index].key = key
    cursors[index].entry = KeyEntry(memory, key, offset: start + KeyEntry.inlineBytes)
  }

  /// Whether the next string of a sorted piece is completely in memory. `index` is the index of the piece in `cursors`.
  @inline(__always)
  private func hasNext(_ index: Int) -> Bool {
    let place = cursors[index].key.upperBound + KeyPiece.lengthBytes
    return place <= cursors[index].end
      && length(at: place - KeyPiece.lengthBytes) <= cursors[index].end - place
  }

  @inline(__always)
  private func length(at place: Int) -> Int { Int(memory[place]) << 8 | Int(memory[place + 1]) }

  /// Moves the unused bytes of the piece at `index` to the start of its memory, and reads the next bytes of the piece
  /// after them. Returns false at the end of the piece.
  private mutating func read(_ index: Int) throws(SQLiteWriterError) -> Bool {
    let start = index * part
    let left = cursors[index].key.upperBound..<cursors[index].end
    for (step, place) in left.enumerated() { memory[start + step] = memory[place] }
    let free = start + left.count..<start + part
    var count = min(free.count, cursors[index].rest.count)
    if index == cursors.count - 1 {
      count = last.fill(&memory, free)
    } else {
      let offset = cursors[index].rest.lowerBound
      try waiting.read(offset, into: &memory, free.prefix(count))
      cursors[index].rest = offset + Int64(count)..<cursors[index].rest.upperBound
    }
    cursors[index].key = start..<start
    cursors[index].end = free.lowerBound + count
    guard cursors[index].end > start else { return false }
    guard hasNext(index) else { throw waiting.lost }
    return true
  }

  // MARK: - The tree

  private mutating func begin() throws(SQLiteWriterError) {
    hasBegun = true
    let count = cursors.count
    for index in 0..<count { try advance(index) }
    var winners = [Int](repeating: 0, count: 2 * count)
    for index in 0..<count { winners[count + index] = index }
    for place in (1..<max(1, count)).reversed() {
      let (one, other) = (winners[2 * place], winners[2 * place + 1])
      let isOther = isLess(other, one)
      winners[place] = isOther ? other : one
      losers[place] = isOther ? one : other
    }
    winner = winners[1]
  }

  /// Updates the tournament tree for the piece at `index`, which has a new current string. The string is compared with
  /// those of other pieces, from the leaf of the piece up to the root of the tree. Afterwards, ``winner`` is the piece
  /// with the lowest string.
  @inline(__always)
  private mutating func play(_ index: Int) {
    var first = index
    var place = (index + cursors.count) / 2
    while place > 0 {
      let other = losers[place]
      if isLess(other, first) {
        losers[place] = first
        first = other
      }
      place /= 2
    }
    winner = first
  }

  @inline(__always)
  private func isLess(_ one: Int, _ other: Int) -> Bool {
    if cursors[one].isAtEnd { return false }
    return cursors[other].isAtEnd || cursors[one].entry.isLess(cursors[other].entry, memory, memory)
  }
}
