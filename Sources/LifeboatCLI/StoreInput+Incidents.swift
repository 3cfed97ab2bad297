import Foundation
import Quoting
import SafeFiles
import SafeText
import StoreFiles
import StoreRecovery

// The store in the folder of an incident.
extension StoreInput {
  static func record(in folder: String) -> String {
    PathText.joined(PathText.withoutTrailingSlashes(folder), "incident.json")
  }

  /// Returns the path of the store in the incident's folder at `folder`, and the record of the incident.
  static func kept(in folder: String) throws -> (String, Incident) {
    let isInPlace = IncidentFolder.parts(of: folder) != nil
    let incident =
      isInPlace ? try IncidentArgument(folder).incident : try copied(record(in: folder), folder)
    guard PathText.isPlainName(incident.storeName) else {
      throw Failure(
        65, "incident.unreadable",
        "\(folder): the name of the store in incident.json is not the name of a file")
    }
    let store = incident.keptMainPath(in: folder)
    guard try FileStatus.of(store) != nil else {
      throw Failure(
        66, "restore.nothingKept", "\(folder): the incident no longer holds a store",
        hint: isInPlace
          ? "to see what became of the store, run: lifeboat incidents show \(ShellText.path(folder))"
          : "ask for the whole folder of the incident; its subfolder store is missing")
    }
    return (store, incident)
  }

  /// Reads the record of an incident whose folder was copied out of the folder `Incompatible`.
  private static func copied(_ record: String, _ folder: String) throws -> Incident {
    guard let incident = try? RecordFile.read(record, as: Incident.self),
      incident.schema == Incident.schemaName, incident.version <= Incident.currentVersion
    else {
      throw Failure(
        65, "incident.unreadable",
        "\(record): this is not the record of an incident, or a newer version of lifeboat has written it"
      )
    }
    return incident
  }
}
