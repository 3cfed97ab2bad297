internal import Foundation
import ObjectModel

/// The first entry of every bundle, `manifest.json`. The manifest says what is in the bundle, where the bytes came
/// from, and what was left out.
///
/// Other programs read the manifest. As long as the version stays the same, keys may be added, but are never removed or
/// given another meaning.
public struct BundleManifest: Codable, Sendable, Equatable {
  /// The value of `schema` in every manifest.
  package static let schemaName = "lifeboat.bundle"
  /// The version of the manifest's schema. Only this version is written, and only this version can be read.
  package static let currentVersion = 1
  /// The name of the entry that contains the manifest. This is the first entry of the archive. The manifest does not
  /// list this entry.
  package static let entryName = "manifest.json"
  /// The maximum size of a manifest in bytes: 4 MiB, enough for tens of thousands of entries.
  package static let maxBytes = 4 << 20

  /// The program that made the bundle.
  public struct Tool: Codable, Sendable, Equatable {
    /// The program's name.
    public var name: String
    /// The program's version.
    public var version: String

    /// Makes a description of a program.
    public init(name: String, version: String) {
      self.name = name
      self.version = version
    }
  }

  /// How much of the user's data is in the bundle.
  public enum Contents: String, Codable, Sendable, CaseIterable {
    /// Descriptions of the store, such as its metadata, schema and row counts, but no rows.
    case structure
    /// The rows of the store. A token replaces each value that the allow-list does not name.
    case rows
    /// The store files themselves.
    case store
  }

  package struct Entry: Codable, Sendable, Equatable {
    package var name: String
    /// The uncompressed size of the entry in bytes.
    package var sizeBytes: UInt64
    /// The SHA-256 of the entry's uncompressed bytes, as 64 lower-case hexadecimal digits.
    package var sha256: String
    /// Where the entry's bytes came from, for example a file name. This is never a full path, so that the manifest can
    /// be passed on.
    package var source: String
    /// The purpose of the entry in the bundle, as a text for people.
    package var why: String
  }

  /// Always `lifeboat.bundle`.
  package var schema: String
  package var version: Int
  package var tool: Tool
  /// When the bundle was made, in UTC, as ISO 8601 with milliseconds: `2026-11-20T21:53:07.000Z`.
  package var created: String
  package var contents: Contents
  /// Sentences that say what was left out of the bundle on purpose.
  package var withheld: [String]
  /// All entries except the manifest itself, in the order of the archive.
  package var entries: [Entry]

  /// Makes a manifest of the current version.
  ///
  /// - Throws: `bundle.badDate` for a date outside the years 1 to 9999.
  package init(
    tool: Tool, created: BundleDate, contents: Contents, withheld: [String], entries: [Entry]
  ) throws(BundleError) {
    schema = Self.schemaName
    version = Self.currentVersion
    self.tool = tool
    self.created = try created.text()
    self.contents = contents
    self.withheld = withheld
    self.entries = entries
  }

  // MARK: - JSON

  /// The manifest as indented JSON with sorted keys and a line feed at the end. Equal manifests give equal bytes.
  package func json() throws(BundleError) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      return Array(try encoder.encode(self)) + [UInt8(ascii: "\n")]
    } catch {
      throw BundleError(.badManifest, "the manifest cannot be written as JSON")
    }
  }

  /// Reads a manifest and checks that it lists each entry once, with a valid name and a valid digest.
  ///
  /// - Throws: `bundle.badManifest`, `bundle.badName`, `bundle.duplicateName`; `bundle.isReturn` for the manifest of a
  ///   returned store.
  package init(json: [UInt8]) throws(BundleError) {
    struct Head: Decodable {
      var schema: String
      var version: Int
    }
    let decoder = JSONDecoder()
    let data = Data(json)
    let found = try? decoder.decode(Head.self, from: data)
    guard found?.schema != "lifeboat.return" else {
      throw BundleError(
        .isReturn, "this is a returned store, not a bundle; lifeboat return verify reads it")
    }
    guard let head = found, head.schema == Self.schemaName else {
      throw BundleError(.badManifest, "manifest.json is not the manifest of a bundle")
    }
    guard head.version == Self.currentVersion else {
      throw BundleError(
        .badManifest, "the manifest has version \(head.version), and only version 1 is supported")
    }
    guard let manifest = try? decoder.decode(Self.self, from: data) else {
      throw BundleError(.badManifest, "manifest.json lacks a field, or a field has the wrong type")
    }
    self = manifest

    var names = ZipNames()
    _ = try names.add(Array(Self.entryName.utf8))
    for entry in entries {
      _ = try names.add(Array(entry.name.utf8))
      guard Hex.isLowercase(entry.sha256.utf8, count: 64) else {
        throw BundleError(
          .badManifest, "the manifest has no valid SHA-256 for the entry", entry: entry.name)
      }
    }
  }
}
