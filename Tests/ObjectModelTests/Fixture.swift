@testable import ModelTools
@testable import ObjectModel

/// A small model of this project's own, with one of everything, in both forms.
enum Fixture {
  static let contents = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" \
    userDefinedModelVersionIdentifier="7">
      <entity name="Note" representedClassName="NoteObject" parentEntity="Item" syncable="YES" \
    elementID="Memo" versionHashModifier="v2">
        <attribute name="body" optional="YES" attributeType="String" elementID="text"/>
        <attribute name="count" attributeType="Integer 16" defaultValueString="-3"/>
        <attribute name="pageCount" optional="YES" attributeType="Integer 64" derived="YES" \
    derivationExpression="pages.@count"/>
        <attribute name="photo" optional="YES" attributeType="Binary" \
    allowsExternalBinaryDataStorage="YES" preserveAfterDeletion="YES"/>
        <attribute name="price" attributeType="Decimal" defaultValueString="-12.50"/>
        <attribute name="shape" optional="YES" attributeType="Transformable" \
    valueTransformerName="ShapeTransformer" customClassName="Shape"/>
        <attribute name="title" attributeType="String" defaultValueString="Untitled" indexed="YES">
          <userInfo><entry key="label" value="Title &amp; more"/></userInfo>
        </attribute>
        <attribute name="scratch" optional="YES" transient="YES"/>
        <relationship name="pages" optional="YES" toMany="YES" ordered="YES" \
    deletionRule="Cascade" destinationEntity="Page" inverseName="note" inverseEntity="Page"/>
        <relationship name="parent" optional="YES" maxCount="1" deletionRule="Nullify" \
    destinationEntity="Note"/>
        <fetchedProperty name="recent"><fetchRequest name="r" entity="Note" \
    predicateString="pinned == 1"/></fetchedProperty>
        <fetchIndex name="byTitle">
          <fetchIndexElement property="title" type="Binary" order="descending"/>
          <fetchIndexElement property="count" type="RTree" order="ascending"/>
        </fetchIndex>
        <uniquenessConstraints><uniquenessConstraint><constraint value="title"/>\
    <constraint value="count"/></uniquenessConstraint></uniquenessConstraints>
        <userInfo><entry key="k" value="v"/></userInfo>
      </entity>
      <entity name="Item" isAbstract="YES">
        <attribute name="created" optional="YES" attributeType="Date" \
    defaultDateTimeInterval="12.5"/>
        <attribute name="link" optional="YES" attributeType="URI" \
    defaultValueString="https://example.org/a"/>
        <attribute name="ident" optional="YES" attributeType="UUID" \
    defaultValueString="3f2504e0-4f89-11d3-9a0c-0305e82c3301"/>
        <attribute name="pinned" optional="YES" attributeType="Boolean" defaultValueString="YES"/>
        <attribute name="ratio" attributeType="Double" defaultValueString="0.5"/>
      </entity>
      <entity name="Page">
        <attribute name="number" attributeType="Integer 32" defaultValueString="1"/>
        <relationship name="note" maxCount="1" minCount="1" deletionRule="Deny" \
    destinationEntity="Note" inverseName="pages" inverseEntity="Note"/>
      </entity>
      <configuration name="Local"><memberEntity name="Page"/><memberEntity name="Note"/>\
    </configuration>
      <fetchRequest name="Pinned" entity="Note" predicateString="pinned == 1"/>
      <elements><element name="Note" positionX="0"/></elements>
    </model>
    """

  /// The model that the text above describes, with what an archive leaves out left out.
  static let model = ManagedObjectModel(
    entities: [
      Entity(
        name: "Note", className: "NoteObject", superentityName: "Item",
        attributes: [
          Attribute(name: "body", type: .string, isOptional: true, renamingIdentifier: "text"),
          Attribute(name: "count", type: .integer16, defaultValue: .integer(-3)),
          Attribute(
            name: "pageCount", type: .integer64, isOptional: true, isReadOnly: true,
            derivation: Derivation(text: "count:(pages)")),
          Attribute(
            name: "photo", type: .binary, isOptional: true, allowsExternalBinaryDataStorage: true,
            preservesValueInHistoryOnDeletion: true),
          Attribute(name: "price", type: .decimal, defaultValue: .decimal("-12.5")),
          Attribute(
            name: "shape", type: .transformable, isOptional: true,
            valueTransformerName: "ShapeTransformer", valueClassName: "Shape"),
          Attribute(
            name: "title", type: .string, isIndexed: true, defaultValue: .string("Untitled"),
            userInfo: ["label": "Title & more"]),
          Attribute(name: "scratch", type: .undefined, isOptional: true, isTransient: true),
        ],
        relationships: [
          Relationship(
            name: "pages", destinationEntityName: "Page", inverseName: "note",
            inverseEntityName: "Page", maxCount: 0, isOrdered: true, isOptional: true,
            deleteRule: .cascade),
          Relationship(name: "parent", destinationEntityName: "Note", isOptional: true),
        ],
        fetchedProperties: [
          FetchedProperty(name: "recent", destinationEntityName: "Note", isOptional: false)
        ],
        uniquenessConstraints: [["title", "count"]],
        fetchIndexes: [
          FetchIndex(
            name: "byTitle",
            elements: [
              .init(propertyName: "title", isAscending: false),
              .init(propertyName: "count", kind: .rTree),
            ])
        ], versionHashModifier: "v2", renamingIdentifier: "Memo", userInfo: ["k": "v"]),
      Entity(
        name: "Item", isAbstract: true,
        attributes: [
          Attribute(name: "created", type: .date, isOptional: true, defaultValue: .date(12.5)),
          Attribute(
            name: "link", type: .uri, isOptional: true, defaultValue: .uri("https://example.org/a")
          ),
          Attribute(
            name: "ident", type: .uuid, isOptional: true,
            defaultValue: .uuid("3F2504E0-4F89-11D3-9A0C-0305E82C3301")),
          Attribute(
            name: "pinned", type: .boolean, isOptional: true, defaultValue: .boolean(true)),
          Attribute(name: "ratio", type: .double, defaultValue: .real(0.5)),
        ]),
      Entity(
        name: "Page",
        attributes: [Attribute(name: "number", type: .integer32, defaultValue: .integer(1))],
        relationships: [
          Relationship(
            name: "note", destinationEntityName: "Note", inverseName: "pages",
            inverseEntityName: "Note", minCount: 1, deleteRule: .deny)
        ]),
    ], versionIdentifiers: ["7"], configurations: ["Local": ["Note", "Page"]])
}
