import CoreDataStore
import ObjectModel
import SQLiteFile
import StoreExtraction

/// Finds the columns and key paths of the rows that the browser shows.
extension BrowseSource {
  /// Returns the names of the columns for the rows of `subject`, and the indexes of the columns with numbers.
  func columns(of subject: BrowseSubject) -> (names: [String], numeric: Set<Int>) {
    let numbers: Set = [
      "integer16", "integer32", "integer64", "double", "float", "decimal", "boolean",
    ]
    guard !subject.isRaw, let plan = plans[ExactText(subject.table)] else {
      let columns = store.database.schema.table(named: subject.table)?.definition?.columns ?? []
      let numeric = columns.indices.filter {
        ["INTEGER", "INT", "FLOAT", "REAL"].contains(columns[$0].declaredType.uppercased())
      }
      return (columns.map(\.name), Set(numeric))
    }
    var names: [String] = []
    var numeric: Set<Int> = []
    for described in plan.describedEntities
    where subject.entities?.contains(described.number) != false {
      for property in described.properties
      where !names.contains(where: { ExactText.isSame($0, property.name) }) {
        if numbers.contains(property.typeName.lowercased()) { numeric.insert(names.count) }
        names.append(property.name)
      }
    }
    if names.isEmpty { names = plan.fallback.map(\.name) }
    return (names, numeric)
  }

  /// Returns the key paths by which the rows of `subject` can be sorted. A key path names an attribute, a to-one
  /// relationship, or an attribute of the destination of a to-one relationship, for example `folder.name`.
  func keyPaths(of subject: BrowseSubject) -> [String] {
    guard !subject.isRaw, let plan = plans[ExactText(subject.table)] else {
      return columns(of: subject).names
    }
    var paths: [String] = []
    for described in plan.describedEntities
    where subject.entities?.contains(described.number) != false {
      for property in described.properties where property.kind != .toMany {
        if !paths.contains(where: { ExactText.isSame($0, property.name) }) {
          paths.append(property.name)
        }
        guard property.kind == .toOne, let model = store.model else { continue }
        for attribute in model.allAttributes(of: property.typeName) {
          let path = "\(property.name).\(attribute.name)"
          if !paths.contains(path) { paths.append(path) }
        }
      }
    }
    return paths
  }

  /// Returns the subject for the rows of an entity; nil when no table of the store stores the entity.
  func subject(ofEntity name: String) -> BrowseSubject? {
    let found = plans.sorted { $0.key < $1.key }.flatMap { table, plan in
      plan.entities.values.map { (table: table.text, name: $0.name) }
    }
    return ExactText.place(of: name, in: found, { $0.name }).map {
      BrowseSubject(table: found[$0].table, name: name)
    }
  }
}
