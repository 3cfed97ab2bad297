import SQLiteFile

/// What a page of a database is used for.
package enum PageKind: UInt8, Sendable, Hashable, CaseIterable {
  /// A page that no page and no header field leads to, and that is not on the freelist.
  case orphan
  /// A page that another page or the header leads to, but that cannot be read as a page of the expected kind.
  case unreadable
  /// A leaf of a table's b-tree, which holds rows.
  case leafTable
  /// An interior page of a table's b-tree, which holds row ids and the numbers of child pages.
  case interiorTable
  /// A leaf of the b-tree of an index or a WITHOUT ROWID table.
  case leafIndex
  /// An interior page of the b-tree of an index or a WITHOUT ROWID table. Besides the numbers of child pages, such a
  /// page holds entries.
  case interiorIndex
  /// A page on which a long payload continues.
  case overflow
  /// A freelist page that lists other free pages.
  case freelistTrunk
  /// A free page that a trunk lists.
  case freelistLeaf
  /// A pointer-map page (auto-vacuum), which states for other pages what they are and which page leads to them.
  case pointerMap
  /// The page at the offset of 1 GiB. It is used for locks and never has content.
  case lockByte

  /// The name of the kind in JSON.
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

  /// The name of the kind in a sentence, with an article.
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
