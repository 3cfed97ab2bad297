import Testing

@testable import ModelTools
@testable import ObjectModel

/// What a keyed archive has too much of is opaque as a whole, not cut short in silence.
struct ArchivedValueTests {
  private static let most = ArchivedValue.maximumCount

  private static func decoded(
    _ make: (inout KeyedArchiveBuilder) -> PropertyList
  ) throws -> ArchivedValue {
    var builder = KeyedArchiveBuilder()
    let root = make(&builder)
    let archive = try KeyedArchive(bytes: builder.bytes(root: root))
    return archive.decoded(archive.root)
  }

  @Test func aCollectionOfTooManyValuesIsOpaque() throws {
    for value in [KeyedArchiveBuilder.null, .bool(true)] {
      let full = Array(repeating: value, count: Self.most - 1)
      let fits = try Self.decoded { $0.array(full) }
      guard case .array(let values) = fits else {
        Issue.record("\(fits.text)")
        continue
      }
      #expect(values.count == full.count)
      let tooMany = full + [value]
      let list = try Self.decoded { $0.array(tooMany) }
      #expect(list == .opaque(className: "NSArray"))
      let set = try Self.decoded { $0.set(tooMany) }
      #expect(set == .opaque(className: "NSSet"))
      let dictionary = try Self.decoded {
        $0.add(
          ["NSDictionary", "NSObject"],
          ["NS.keys": .array(tooMany), "NS.objects": .array(tooMany)])
      }
      #expect(dictionary == .opaque(className: "NSDictionary"))
      let fields = tooMany.enumerated().map { ("f\($0.offset)", $0.element) }
      let object = try Self.decoded {
        $0.add(["App.Wide", "NSObject"], Dictionary(uniqueKeysWithValues: fields))
      }
      #expect(object == .opaque(className: "App.Wide"))
    }
  }

  /// Small archives in which all elements of a list share one list of nils, or one text that is copied when it is read.
  @Test func sharedNilsAndTextsEnd() throws {
    let nils = try Self.decoded { builder in
      let inner = builder.array(Array(repeating: KeyedArchiveBuilder.null, count: 300))
      return builder.array(Array(repeating: inner, count: 300))
    }
    #expect(nils == .opaque(className: "NSArray"))
    let texts = try Self.decoded { builder in
      let bytes = PropertyList.data([UInt8](repeating: 0x78, count: 100_000))
      let text = builder.add(["NSString", "NSObject"], ["NS.bytes": bytes])
      return builder.array(Array(repeating: text, count: 300))
    }
    #expect(texts == .opaque(className: "NSArray"))
  }

  @Test func whatWasTooMuchIsALossWhenItIsWrittenAgain() throws {
    let nulls = ArchivedValue.array(Array(repeating: .null, count: Self.most))
    let entity = Entity(name: "A", userInfo: ["many": nulls])
    let bytes = ManagedObjectModel(entities: [entity]).archive(form: .modelCache).bytes
    let model = try ManagedObjectModel(archive: bytes)
    #expect(model.entities["A"]?.userInfo == ["many": .opaque(className: "NSArray")])
    for form in ModelArchiveForm.allCases {
      let (bytes, losses) = model.archive(form: form)
      #expect(losses.contains { $0.sentence.contains("many") })
      #expect(try ManagedObjectModel(archive: bytes) == model.reduced(to: form))
    }
  }
}
