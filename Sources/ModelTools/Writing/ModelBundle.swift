package import ObjectModel
import Quoting
import SafeText

/// The versions of a model as the files of a folder that Xcode or Core Data opens.
package struct ModelBundle: Sendable {
  /// One version that goes into the folder.
  package struct Version: Sendable {
    /// The version's name without extension, which becomes a file's name.
    package let name: String
    /// The model.
    package let model: ManagedObjectModel
    /// What the `.xcdatamodel` holds beyond the model.
    package let settings: SourceSettings
    /// Hashes recorded beside the model, used in place of those that cannot be computed.
    package let recorded: RecordedHashes?

    /// Makes a version.
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

  /// One file of the folder.
  package struct File: Sendable, Hashable {
    /// The path within the folder: `Notes 2.xcdatamodel/contents`.
    package let path: String
    /// The file's contents.
    package let bytes: [UInt8]
  }

  /// The files, by path.
  package let files: [File]
  /// What the form cannot hold of each version, by the version's name; versions without a loss are omitted.
  package let losses: [String: [ModelLoss]]

  /// The folder `.xcdatamodeld`: an `.xcdatamodel` for each version, and `.xccurrentversion` if one of several is
  /// current.
  ///
  /// - Throws: ``ModelError`` when two versions have the same name, or one has a name that no file can
  ///   have.
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

  /// The folder `.momd`: a compiled model for each version, and `VersionInfo.plist` with the hashes, the checksums and
  /// the name of the current version.
  ///
  /// An entity whose hash is not known is left out of `VersionInfo.plist`, and the checksum with it.
  ///
  /// - Throws: ``ModelError`` when two versions have the same name, or one has a name that no file can
  ///   have, or is larger than what can be read again.
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
              sentence: "Its version hash is unknown, so VersionInfo.plist has none for it: "
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
      // Names that differ only in case are one file on some systems.
      guard names.insert(version.name.lowercased()).inserted else {
        throw ModelError(
          code: .duplicateName, message: "There are two versions called \(version.name).")
      }
    }
  }
}
