package import ObjectModel
import Quoting
import SafeText

/// The files of a folder with the versions of a model, which Xcode or Core Data opens.
package struct ModelBundle: Sendable {
  /// A version that is written into the folder.
  package struct Version: Sendable {
    /// The version's name without extension. It becomes the name of a file.
    package let name: String
    /// The model of the version.
    package let model: ManagedObjectModel
    /// The settings that an `.xcdatamodel` holds beyond the model.
    package let settings: SourceSettings
    /// The hashes recorded for the model; nil if there are none. They are used for entities whose hash cannot be
    /// computed.
    package let recorded: RecordedHashes?

    /// Makes a version from its name, its model, its settings and its recorded hashes.
    package init(
      name: String, model: ManagedObjectModel, settings: SourceSettings = SourceSettings(),
      recorded: RecordedHashes? = nil
    ) {
      self.name = name
      self.model = model
      self.settings = settings
      self.recorded = recorded
    }
  }

  /// A file of the folder.
  package struct File: Sendable, Hashable {
    /// The path within the folder: `Notes 2.xcdatamodel/contents`.
    package let path: String
    /// The file's contents.
    package let bytes: [UInt8]
  }

  /// The files of the folder, in the order in which they were made.
  package let files: [File]
  /// The parts of each version that the form cannot hold, by version name. Versions without a loss are left out.
  package let losses: [String: [ModelLoss]]

  /// Makes the folder `.xcdatamodeld`: an `.xcdatamodel` for each version. If there are several versions and one is
  /// current, `.xccurrentversion` names it.
  ///
  /// - Throws: ``ModelError`` if two versions have the same name, or a name cannot be a file name.
  package init(source versions: [Version], current: String?) throws(ModelError) {
    try Self.check(versions)
    var files: [File] = []
    var losses: [String: [ModelLoss]] = [:]
    if let current, versions.count > 1 {
      files.append(File(path: ".xccurrentversion", bytes: Self.marker(current)))
    }
    for version in versions {
      let written = version.model.contentsXML(settings: version.settings)
      files.append(
        File(path: version.name + ".xcdatamodel/contents", bytes: written.bytes))
      if !written.losses.isEmpty { losses[version.name] = written.losses }
    }
    self.files = files
    self.losses = losses
  }

  /// Makes the folder `.momd`: a compiled model for each version, and `VersionInfo.plist` with the hashes, the
  /// checksums and the name of the current version.
  ///
  /// If the hash of an entity is not known, `VersionInfo.plist` has neither the entity nor a computed checksum.
  ///
  /// - Throws: ``ModelError`` if two versions have the same name, a name cannot be a file name, or a model is too large
  ///   to be read again.
  package init(compiled versions: [Version], current: String?) throws(ModelError) {
    try Self.check(versions)
    var files: [File] = []
    var losses: [String: [ModelLoss]] = [:]
    var recorded: [String: RecordedHashes] = [:]
    for version in versions {
      let written = try version.model.readableArchive(form: .compiled)
      files.append(File(path: version.name + ".mom", bytes: written.bytes))
      var lost = written.losses
      let computed = version.model.versionHashes()
      var hashes = computed.hashes
      for name in ByteOrder.sorted(computed.unknown.keys) {
        hashes[name] = version.recorded?.hashes[name]
        if hashes[name] == nil {
          lost.append(
            ModelLoss(
              entityName: name,
              sentence: "The version hash is not known and is left out of VersionInfo.plist: "
                + "\(computed.unknown[name] ?? "")."))
        }
      }
      recorded[version.name] = RecordedHashes(
        hashes: hashes, checksum: computed.checksum ?? version.recorded?.checksum)
      if !lost.isEmpty { losses[version.name] = lost }
    }
    let info = VersionInfo(versions: recorded, currentVersionName: current)
    files.append(File(path: "VersionInfo.plist", bytes: info.binaryBytes()))
    self.files = files
    self.losses = losses
  }

  /// The property list that names the current version, as Xcode writes it.
  private static func marker(_ name: String) -> [UInt8] {
    let escaped = MarkupText.html(name + ".xcdatamodel")
    let text = """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" \
      "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">
      <dict>
      \t<key>_XCCurrentVersionName</key>
      \t<string>\(escaped)</string>
      </dict>
      </plist>

      """
    return Array(text.utf8)
  }

  private static func check(_ versions: [Version]) throws(ModelError) {
    var names: Set<String> = []
    for version in versions {
      guard PathText.isPlainName(version.name), version.name.utf8.first != UInt8(ascii: "."),
        !version.name.utf8.contains(where: { $0 < 0x20 }),
        version.name.utf8.count < 240
      else {
        throw ModelError(
          code: .unfitName,
          message: "The version name \(version.name) cannot be a file name.")
      }
      // Names that differ only in case are one file on some file systems.
      guard names.insert(version.name.lowercased()).inserted else {
        throw ModelError(
          code: .duplicateName, message: "There are two versions called \(version.name).")
      }
    }
  }
}
