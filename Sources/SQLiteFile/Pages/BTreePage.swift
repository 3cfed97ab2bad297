/// The header of a b-tree page (file format, section 1.6 "B-tree Pages").
@usableFromInline package struct BTreePage {
  @usableFromInline package enum Kind: UInt8 {
    case interiorIndex = 2
    case interiorTable = 5
    case leafIndex = 10
    case leafTable = 13

    @inlinable package var isLeaf: Bool { self == .leafIndex || self == .leafTable }
    package var isTable: Bool { self == .interiorTable || self == .leafTable }
  }

  @usableFromInline package enum Defect: Error {
    case type(UInt8)
    case cellCount(Int)

    @inlinable package var finding: (id: Finding.ID, message: String) {
      switch self {
      case .type(let byte):
        (.pageBadType, "not readable as a b-tree page: its type byte is \(byte)")
      case .cellCount(let count):
        (.pageBadCellCount, "not readable as a b-tree page: it cannot hold \(count) cells")
      }
    }
  }

  @usableFromInline package let kind: Kind
  @usableFromInline package let cellCount: Int
  /// The page offset of the cell pointer array, in bytes.
  @usableFromInline package let pointers: Int
  /// The page number of the right-most child; 0 for a leaf.
  @usableFromInline package let rightChild: UInt32
  @usableFromInline package let usableSize: Int

  /// Reads the header of page `number`. On page 1, this header comes after the database header.
  @inlinable @inline(__always)
  package init(parsing page: RawSpan, number: UInt32, usableSize: Int) throws(Defect) {
    let start = number == 1 ? DatabaseHeader.length : 0
    guard let kind = Kind(rawValue: page.byte(at: start)) else {
      throw .type(page.byte(at: start))
    }
    let count = Int(page.uint16(at: start + 3))
    let pointers = start + (kind.isLeaf ? 8 : 12)
    guard pointers + 2 * count <= usableSize else { throw .cellCount(count) }
    self.kind = kind
    self.pointers = pointers
    self.usableSize = usableSize
    cellCount = count
    rightChild = kind.isLeaf ? 0 : page.uint32(at: start + 8)
  }

  /// Returns the page offset of the cell content area, which the b-tree header at the page offset `base` states. There,
  /// 0 means 65,536.
  @inlinable @inline(__always)
  package static func contentStart(_ page: RawSpan, _ base: Int) -> Int {
    let stored = Int(page.uint16(at: base &+ 5))
    return stored == 0 ? 65_536 : stored
  }

  /// Returns the page offset of the cell with the given index; nil when the cell pointer points outside the cell
  /// content area.
  @inlinable @inline(__always)
  package func cellStart(_ page: RawSpan, _ index: Int) -> Int? {
    let start = Int(page.uint16(at: pointers &+ 2 &* index))
    // The smallest cell has four bytes, because SQLite pads shorter cells.
    guard start >= pointers &+ 2 &* cellCount, start &+ 4 <= usableSize else { return nil }
    return start
  }

  /// Returns the number of bytes of a payload that are on the b-tree page itself (section 1.6, the formulas for U, X, M
  /// and K).
  @inlinable @inline(__always)
  package static func localLength(payload: Int, usableSize: Int, isTableLeaf: Bool) -> Int {
    let most = isTableLeaf ? usableSize &- 35 : (usableSize &- 12) &* 64 / 255 &- 23
    if payload <= most { return payload }
    let least = (usableSize &- 12) &* 32 / 255 &- 23
    let local = least &+ (payload &- least) % (usableSize &- 4)
    return local <= most ? local : least
  }
}
