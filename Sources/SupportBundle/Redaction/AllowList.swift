import SafeText
import StoreExtraction

/// The attributes whose values are written into a bundle without redaction. The owner of the data lists the attributes
/// by hand in a file, one permission on each line.
///
/// ```
/// lifeboat-allow 1
/// # A comment.
/// Note.title
/// Folder.*
/// ```
///
/// `Note.title` allows the values of the attribute `title` in rows of the entity `Note` and of its subentities.
/// `Folder.*` allows the values of all attributes of `Folder`. In a file that is not a Core Data store, the names are
/// those of tables and columns. A name with a dot or a quotation mark is written in double quotes, as in SQL:
/// `"v1.notes"."a ""title"""`. All other values are redacted.
package struct AllowList: Sendable, Equatable {
  /// One line of an allow-list. `entity` is the name of an entity or table; `attribute` is the name of an attribute or
  /// column, or nil for all of them.
  struct Permission: Sendable, Hashable {
    let entity: ExactText
    let attribute: ExactText?

    init(entity: String, attribute: String?) {
      self.entity = ExactText(entity)
      self.attribute = attribute.map { ExactText($0) }
    }

    init?(_ line: String) {
      var rest = Array(line.utf8)[...]
      guard !rest.starts(with: "*.".utf8), let entity = Self.takeName(from: &rest),
        rest.popFirst() == UInt8(ascii: ".")
      else { return nil }
      if rest.elementsEqual("*".utf8) {
        self.init(entity: entity, attribute: nil)
      } else {
        guard let name = Self.takeName(from: &rest), rest.isEmpty else { return nil }
        self.init(entity: entity, attribute: name)
      }
    }

    var name: String { entity.text + "." + (attribute?.text ?? "*") }

    private static let quote = UInt8(ascii: "\"")

    /// Removes a name from the start of `line`, and returns the name. The name is in double quotes, or ends at the next
    /// dot. Returns nil when `line` does not start with a name.
    private static func takeName(from line: inout ArraySlice<UInt8>) -> String? {
      var name: [UInt8] = []
      if line.first == quote {
        repeat {
          line.removeFirst()
          let part = line.prefix { $0 != quote }
          guard part.endIndex < line.endIndex else { return nil }
          name += part
          line = line[part.endIndex...].dropFirst()
          if line.first == quote { name.append(quote) }
        } while line.first == quote
      } else {
        name = Array(line.prefix { $0 != UInt8(ascii: ".") })
        line = line.dropFirst(name.count)
      }
      return name.isEmpty ? nil : String(decoding: name, as: UTF8.self)
    }
  }

  private(set) var permissions: Set<Permission> = []

  static let firstLine = "lifeboat-allow 1"
  static let maxBytes = 1 << 20

  package static let nothing = AllowList()

  private init() {}

  /// Reads the allow-list in a file.
  ///
  /// - Throws: `bundle.badAllowList`, and the errors of reading.
  package init(contentsOf path: String) throws(BundleError) {
    let file = try InputFile(path: path, followsLink: true)
    guard file.size <= UInt64(Self.maxBytes) else {
      throw BundleError(.badAllowList, "the allow-list is larger than 1 MiB", path: path)
    }
    var bytes = [UInt8](repeating: 0, count: Int(file.size))
    let count = try file.read(at: 0, into: &bytes, count: bytes.count)
    do throws(BundleError) {
      try self.init(Array(bytes.prefix(count)))
    } catch {
      throw error.inside(path: path)
    }
  }

  /// Reads an allow-list from the bytes of its file.
  ///
  /// - Throws: `bundle.badAllowList` with the number of the line that cannot be read.
  package init(_ bytes: [UInt8]) throws(BundleError) {
    guard bytes.count <= Self.maxBytes, let text = String(validating: bytes, as: UTF8.self) else {
      throw BundleError(.badAllowList, "the allow-list is not UTF-8 text of at most 1 MiB")
    }
    var lines = text.utf8.split(omittingEmptySubsequences: false) { $0 == 0x0a }.map(Self.trimmed)
    guard lines.first == Self.firstLine else {
      throw BundleError(
        .badAllowList, "the first line of the allow-list must be \"\(Self.firstLine)\"")
    }
    lines.removeFirst()
    for (index, line) in lines.enumerated()
    where !line.isEmpty && line.utf8.first != UInt8(ascii: "#") {
      guard let permission = Permission(line) else {
        throw BundleError(
          .badAllowList,
          "line \(index + 2) of the allow-list is not in the form ENTITY.ATTRIBUTE: "
            + "\(Quoted.text(line))"
        )
      }
      permissions.insert(permission)
    }
  }

  /// Returns a line without the spaces and tabs at its start and end, and without the carriage return of a Windows line
  /// break.
  private static func trimmed(_ line: Substring.UTF8View) -> String {
    let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0d }
    let start = line.drop(while: isBlank)
    let end = start.lastIndex { !isBlank($0) }.map(start.index(after:)) ?? start.startIndex
    return String(decoding: start[..<end], as: UTF8.self)
  }

  /// Whether the allow-list names an attribute of an entity. `entities` contains the entity and all its ancestors. A
  /// permission for any of these entities is enough.
  package func allows(_ attribute: String, of entities: [String]) -> Bool {
    entities.contains {
      permissions.contains(Permission(entity: $0, attribute: attribute))
        || permissions.contains(Permission(entity: $0, attribute: nil))
    }
  }
}
