package import SQLiteFile

/// The ids of findings about Core Data's tables, and of the parts of a store that the check did not examine.
extension Finding.ID {
  /// A table contains a primary key that is higher than the highest key that Z_PRIMARYKEY records, so Core Data would
  /// give new rows keys that are in use.
  package static let coredataKeyCounter = Self(rawValue: "coredata.keyCounter")
  /// Relationships lead to rows that do not exist.
  package static let coredataDanglingReference = Self(rawValue: "coredata.danglingReference")
  /// Links of a many-to-many relationship lead to rows that do not exist.
  package static let coredataDanglingLink = Self(rawValue: "coredata.danglingLink")
  /// Values have a storage class that Core Data never uses for the attribute's type.
  package static let coredataStorageClass = Self(rawValue: "coredata.storageClass")
  /// External files that hold values of attributes are missing.
  package static let coredataExternalFileMissing = Self(rawValue: "coredata.externalFileMissing")
  package static let coredataTableMissing = Self(rawValue: "coredata.tableMissing")
  /// A table lacks columns that the model needs.
  package static let coredataColumnMissing = Self(rawValue: "coredata.columnMissing")
  /// The model that is cached in the store does not match the version hashes that the store records.
  package static let coredataModelMismatch = Self(rawValue: "coredata.modelMismatch")
  /// The recorded version hash of an entity is not 32 bytes long.
  package static let coredataBadHash = Self(rawValue: "coredata.badHash")
  /// The digest or the checksum in the metadata does not match the version hashes in the metadata.
  package static let coredataBadDigest = Self(rawValue: "coredata.badDigest")
  /// Not checked: primary keys and entity numbers.
  package static let coredataKeys = Self(rawValue: "coredata.keys")
  /// Not checked: the tables that the model needs.
  package static let coredataTables = Self(rawValue: "coredata.tables")
  /// Not checked: version hashes.
  package static let coredataHashes = Self(rawValue: "coredata.hashes")
  /// Not checked, because no model can be read: tables, references and storage classes.
  package static let coredataValues = Self(rawValue: "coredata.values")

  /// Not checked: files beside the main file that this user may not read.
  package static let storeFilesUnread = Self(rawValue: "store.filesUnread")
}
