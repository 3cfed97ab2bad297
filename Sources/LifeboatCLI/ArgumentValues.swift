public import ArgumentParser
public import SQLiteFile
public import StoreExtraction
public import Terminal

// Values of the libraries that flags take by name.
extension ColorChoice: ExpressibleByArgument {}
extension SQLiteDatabase.LogView: ExpressibleByArgument {}
extension BlobForm: ExpressibleByArgument {}
extension StoreExport.Format: ExpressibleByArgument {}
extension StoreRebuild.Provenance: ExpressibleByArgument {}
extension CheckDepth: ExpressibleByArgument {}
extension ProgressMode: ExpressibleByArgument {}
