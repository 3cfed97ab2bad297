import CoreDataStore
import ObjectModel
import RowText
import SQLiteFile
import SafeText
import StoreExtraction
import Terminal

/// Turns a row of the store into the list of its properties, and one value of a row into text.
extension BrowseSource {
  /// The maximum number of bytes of a value that are read and shown.
  static let maxBytes = 1 << 20

  // MARK: - A cell

  /// The text that a cell of a table shows for a value. A long string is cut. For a blob or a long list of rows, the
  /// cell shows only its size.
  static func cell(_ property: RowContent.Property) -> String {
    if let partial = property.partial { return partial }
    switch property.value {
    case .binary(let bytes):
      return Quantity.count(property.size ?? bytes.count, "byte")
    case .toMany(let targets) where targets.count > 20:
      return Quantity.count(targets.count, "row")
    case .string(let text) where text.utf8.count > 400:
      // A line of the screen has no room for more bytes.
      return String(decoding: text.utf8.prefix(400), as: UTF8.self)
    default: return CellText.text(property.value)
    }
  }

  // MARK: - A row

  func title(of content: RowContent, _ reference: RowReference) -> String {
    let table: String
    switch reference {
    case .live(let name, _, _): table = name
    case .place(let query, _): table = query.subject.name
    }
    let key = content.key.map { String($0) } ?? "?"
    let mark = content.mark == .live ? "" : " [\(content.mark.rawValue)]"
    return "\(content.entity ?? table) \(key)\(mark)"
  }

  /// Returns the items of the list for a row: the row's mark if the row is not live, its properties and relationships,
  /// and where it was found.
  func items(_ content: RowContent, _ reference: RowReference) -> [ListItem] {
    var items: [ListItem] = []
    if content.mark != .live {
      items.append(ListItem(label: "state", text: content.mark.words, tone: .yellow))
    }
    for property in content.properties { items.append(item(property, content, reference)) }
    items += inverses(of: content)
    var place = content.origin
    if let saves = content.saves { place += ", saved \(Quantity.count(saves, "time"))" }
    if !place.isEmpty { items.append(ListItem(label: "where", text: place, tone: .dim)) }
    return items
  }

  private func item(
    _ property: RowContent.Property, _ content: RowContent, _ reference: RowReference
  ) -> ListItem {
    let value = BrowseAction.value(reference, property: property.name)
    if let partial = property.partial {
      return ListItem(label: property.name, text: partial, tone: .yellow)
    }
    switch property.value {
    case .null: return ListItem(label: property.name, text: "(none)", tone: .dim)
    case .toOne(let target):
      guard let name = target.entityName, let subject = subject(ofEntity: name) else {
        return ListItem(label: property.name, text: CellText.text(property.value))
      }
      return ListItem(
        label: property.name, text: "to " + CellText.text(property.value),
        action: .row(.live(table: subject.table, key: target.primaryKey, isRaw: false)),
        isLink: true)
    case .toMany(let targets):
      guard let name = targets.first?.entityName, let subject = subject(ofEntity: name)
      else {
        return ListItem(
          label: property.name, text: targets.isEmpty ? "to none" : CellText.text(property.value),
          tone: .dim)
      }
      return ListItem(
        label: property.name,
        text: "to \(Quantity.count(targets.count)) \(name): "
          + targets.prefix(20).map { String($0.primaryKey) }.joined(separator: " ")
          + (targets.count > 20 ? " …" : ""),
        action: .rows(
          RowsQuery(subject: subject, condition: .keys(targets.map(\.primaryKey)))),
        isLink: true)
    case .binary(let bytes):
      let text =
        property.size.map { Quantity.count($0, "byte") }
        ?? BlobContent(bytes).summary(sizeBytes: bytes.count)
      return ListItem(label: property.name, text: text, action: value)
    case .string where property.size != nil:
      return ListItem(
        label: property.name,
        text: Self.cell(property) + "… (\(Quantity.count(property.size ?? 0, "byte")))",
        action: value)
    case .string(let text):
      return ListItem(
        label: property.name, text: text.utf8.isEmpty ? "(empty)" : text.string, action: value,
        tone: text.utf8.isEmpty ? .dim : nil)
    default:
      return ListItem(
        label: property.name, text: CellText.text(property.value), action: value)
    }
  }

  /// Returns items for the one-to-many relationships of a row. The row itself does not store these relationships; the
  /// rows of the destinations do. So each item opens a query for the destinations.
  private func inverses(of content: RowContent) -> [ListItem] {
    guard content.mark == .live, let key = content.key, let entity = content.entity,
      let layout = store.layout
    else { return [] }
    return layout.model.allRelationships(of: entity).compactMap { relationship in
      guard relationship.isToMany, content.property(relationship.name) == nil,
        let inverse = TableLayout.inverse(of: relationship, in: layout.model), !inverse.isToMany,
        let column = layout.column(
          of: inverse.name, in: relationship.destinationEntityName)?.name,
        let subject = subject(ofEntity: relationship.destinationEntityName),
        let place = store.database.schema.table(named: subject.table)?.definition?.columns
          .firstIndex(where: { $0.name.uppercased() == column.uppercased() })
      else { return nil }
      return ListItem(
        label: relationship.name,
        text: "to the rows of \(subject.name) whose \(inverse.name) is this row",
        action: .rows(
          RowsQuery(subject: subject, condition: .pointing(column: place, at: key))),
        isLink: true)
    }
  }

  // MARK: - A value

  /// Returns the value of a property as a text to read, from at most ``maxBytes`` bytes of the value.
  func text(of content: RowContent?, _ name: String) -> BrowseText {
    guard let content, let property = content.property(name) else {
      return BrowseText(title: name, lines: ["the store does not have this row any more"])
    }
    let title =
      "\(content.entity.map { "\($0) " } ?? "")\(content.key.map { String($0) } ?? "?"): \(name)"
    let cut = property.size.map {
      "the first \(Quantity.bytes(UInt64(Self.maxBytes))) of \(Quantity.bytes(UInt64($0))) are shown"
    }
    switch property.value {
    case .string(let text):
      let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      return BrowseText(
        title: title, lines: lines.map { String(decoding: $0, as: UTF8.self) },
        bytes: text.isValid ? nil : text.utf8,
        note: cut ?? (text.isValid ? nil : "not valid text: invalid bytes are shown as \u{FFFD}"))
    case .binary(let bytes):
      return BrowseText(title: title, lines: BlobOutline.lines(bytes), bytes: bytes, note: cut)
    case .uuid(let bytes):
      return BrowseText(title: title, lines: [CellText.text(property.value)], bytes: bytes)
    case .external(let blob):
      let file = Self.file(blob)
      return BrowseText(
        title: title,
        lines: [CellText.text(property.value), "file \(blob.identifier)"]
          + (file.map { BlobOutline.lines($0) } ?? []),
        bytes: file,
        note: blob.sizeBytes.map { $0 > Int64(Self.maxBytes) } == true
          ? "the first \(Quantity.bytes(UInt64(Self.maxBytes))) are shown" : nil)
    default: return BrowseText(title: title, lines: [CellText.text(property.value)])
    }
  }

  /// The first ``maxBytes`` bytes of an external file; nil when the file cannot be read.
  private static func file(_ blob: ExternalBlob) -> [UInt8]? {
    guard let file = try? ByteFile(blob.path) else { return nil }
    return try? file.bytes(at: 0, count: Int(min(file.size, Int64(maxBytes))))
  }
}
