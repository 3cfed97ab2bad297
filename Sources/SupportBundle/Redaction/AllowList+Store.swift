package import CoreDataStore
import ObjectModel
import SQLiteFile
import StoreExtraction

extension AllowList {
  /// Throws if a permission names an entity, table or attribute that the store does not have. Without this check, a
  /// typing error in the allow-list would be noticed only in the finished bundle.
  ///
  /// - Throws: `bundle.unknownName`, and `SQLiteFileError` when the store cannot be read.
  package func check(against store: CoreDataStore) throws {
    var attributes: [ExactText: Set<ExactText>] = [:]
    for table in store.plainTables {
      attributes[ExactText(table.name)] = Set(table.columnNames.map { ExactText($0) })
    }
    for table in store.entityTables {
      for entity in try store.describedEntities(of: table) {
        let lineage = [entity.name] + (store.model?.ancestors(of: entity.name).map(\.name) ?? [])
        for name in lineage {
          attributes[ExactText(name), default: []].formUnion(
            entity.properties.map { ExactText($0.name) })
        }
      }
    }
    for permission in permissions {
      guard let known = attributes[permission.entity],
        permission.attribute.map(known.contains) ?? true
      else {
        throw BundleError(
          .unknownName,
          "the allow-list names \(Quoted.text(permission.name)), which the store does not have")
      }
    }
  }
}
