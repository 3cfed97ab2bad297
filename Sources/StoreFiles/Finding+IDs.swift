package import SQLiteFile

/// What reading a store's metadata finds.
extension Finding.ID {
  /// The table of the metadata has no readable row.
  package static let coredataMetadataMissing = Self(rawValue: "coredata.metadataMissing")
  /// The metadata cannot be read.
  package static let coredataMetadataUnreadable = Self(rawValue: "coredata.metadataUnreadable")
  /// The model that the store carries cannot be read.
  package static let coredataModelCacheUnreadable = Self(rawValue: "coredata.modelCacheUnreadable")
}
