import SQLiteFile

/// What a page of a database is used for.
package enum PageKind: UInt8, Sendable, Hashable, CaseIterable {
  /// A page that no page and no header field leads to, and that is not on the freelist.
  case orphan
  /// A page to which a pointer or a header field leads, but which cannot be read as a page of the expected kind.
  case unreadable
  case leafTable
  case interiorTable
  /// A leaf of an index or of a WITHOUT ROWID table.
  case leafIndex
  /// An interior page of an index or of a WITHOUT ROWID table. Each of its cells has an entry and the number of a child
  /// page.
  case interiorIndex
  case overflow
  case freelistTrunk
  case freelistLeaf
  case pointerMap
  case lockByte

  /// The name of this kind in JSON.
  package var name: String {
    switch self {
    case .orphan: "orphan"
    case .unreadable: "unreadable"
    case .leafTable: "leafTable"
    case .interiorTable: "interiorTable"
    case .leafIndex: "leafIndex"
    case .interiorIndex: "interiorIndex"
    case .overflow: "overflow"
    case .freelistTrunk: "freelistTrunk"
    case .freelistLeaf: "freelistLeaf"
    case .pointerMap: "pointerMap"
    case .lockByte: "lockByte"
    }
  }

  /// The name of this kind in a sentence, with an article.
  package var words: String {
    switch self {
    case .orphan: "a page that nothing uses"
    case .unreadable: "a page that is not readable"
    case .leafTable: "a table leaf"
    case .interiorTable: "an interior table page"
    case .leafIndex: "an index leaf"
    case .interiorIndex: "an interior index page"
    case .overflow: "an overflow page"
    case .freelistTrunk: "a freelist trunk"
    case .freelistLeaf: "a free page"
    case .pointerMap: "a pointer map"
    case .lockByte: "the lock-byte page"
    }
  }

  init(_ kind: BTreePage.Kind) {
    switch kind {
    case .leafTable: self = .leafTable
    case .interiorTable: self = .interiorTable
    case .leafIndex: self = .leafIndex
    case .interiorIndex: self = .interiorIndex
    }
  }
}
