package import SQLiteFile

extension Finding.ID {
  /// The table `Z_METADATA` has no readable row.
  package static let coredataMetadataMissing = Self(rawValue: "coredata.metadataMissing")
  /// The property list in `Z_METADATA` cannot be read.
  package static let coredataMetadataUnreadable = Self(rawValue: "coredata.metadataUnreadable")
  /// The model in `Z_MODELCACHE` cannot be read.
  package static let coredataModelCacheUnreadable = Self(rawValue: "coredata.modelCacheUnreadable")
}
