package import ObjectModel
import Quoting
import SafeText

/// The files of a model bundle: a folder that contains the versions of a model. Xcode or Core Data can open such a
/// folder.
package struct ModelBundle: Sendable {
  package struct Version: Sendable {
    /// The name of the version, which becomes a file name, without extension.
    package let name: String
    package let model: ManagedObjectModel
    package let settings: SourceSettings
    /// The hashes recorded for the version; nil if no hashes were recorded. A recorded hash is used if the entity's
    /// hash cannot be computed from the model.
    package let recorded: RecordedHashes?

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

  package struct File: Sendable, Hashable {
    /// The path of the file within the folder of the model, for example `Notes 2.xcdatamodel/contents`.
    package let path: String
    package let bytes: [UInt8]
  }

  /// The files of the folder, in no significant order.
  package let files: [File]
  /// The parts of each version that the file format cannot hold, by version name. Versions without losses are left out.
  package let losses: [String: [ModelLoss]]

  /// Makes an `.xcdatamodeld` folder: an `.xcdatamodel` for each version and, if there are several versions and one is
  /// current, the marker `.xccurrentversion` with its name.
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

  /// Makes a `.momd` folder: a compiled model for each version, and a `VersionInfo.plist` with the hashes, the
  /// checksums and the name of the current version.
  ///
  /// `VersionInfo.plist` omits an entity whose hash cannot be computed and is not recorded. If any hash cannot be
  /// computed, the file has the recorded checksum, or no checksum.
  ///
  /// - Throws: ``ModelError`` if two versions have the same name, a name cannot be a file name, or a model is too
  ///   large to be read again.
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

  /// Returns the property list that names the current version, in the form that Xcode writes.
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
    var names: [String: String] = [:]
    for version in versions {
      guard PathText.isPlainName(version.name), version.name.utf8.first != UInt8(ascii: "."),
        !version.name.utf8.contains(where: { $0 < 0x20 }),
        version.name.utf8.count < 240
      else {
        throw ModelError(
          code: .unfitName,
          message: "The version name \(version.name) cannot be a file name.")
      }
      // On some file systems, two names that differ only in case denote the same file.
      if let other = names.updateValue(version.name, forKey: version.name.lowercased()) {
        throw .duplicate("There are two versions", version.name, like: other)
      }
    }
  }
}
