import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

// Foundation has types of these names.
private typealias ModelExpression = ObjectModel.ModelExpression
private typealias ModelPredicate = ObjectModel.ModelPredicate

/// Expressions and predicates as text and in archives.
struct ExpressionTests {
  // MARK: Text

  /// Texts of Apple's Predicate Programming Guide and of real models; each prints as it stands.
  @Test(arguments: [
    "name == \"Ann\"", "SELF >= 0", "length <= 50",
    "comment CONTAINS[c] $FETCHED_PROPERTY.userInfo.search",
    "authorAlias == $FETCH_SOURCE.alias", "ANY employees.firstName LIKE[cd] \"m*\"",
    "NOT name IN {\"Ben\", \"Melissa\", \"Nick\"}", "salary BETWEEN {1, 5}", "ALL marks > 3.5",
    "a == 1 AND (b == 2 OR c == 3)", "a == 1 OR b == 2 OR c == 3",
    "NOT (a == 1 AND b == 2)", "TRUEPREDICATE", "FALSEPREDICATE", "parent == nil",
    "flag == YES AND other == NO", "title BEGINSWITH[n] \"A\" OR title ENDSWITH[l] \"Z\"",
    "name MATCHES \"^[-_A-Za-z0-9]{1,64}$\"", "(a + b) * c == -5", "a - (b - c) < 0",
    "a ** 2 / 3 >= 1.5e-07", "SUBQUERY(pages, $x, $x.number > 3).@count > 2",
    "TERNARY(a == 1, b, c) == 2", "a UNION (b MINUS c) == {}", "count:(pages) == 2",
    "FUNCTION($manager, \"f:g:\", \"A\", $source.owner) == nil", "#in == 1 AND a.#like == 2",
    "list[0].name == list[FIRST]", "CAST(12.5, \"NSDate\") < date",
    "price > CAST(\"0.1\", \"NSDecimalNumber\")", "CAST(name, \"NSNumber\") == 5",
    "SELF isNear: other", "pages.@sum.words > 10", "name == \"q\\\"\\\\\\n\"", "now() > date",
    "FETCH(FUNCTION($manager, \"fetchRequestForSourceEntityNamed:predicateString:\", \"Car\", "
      + "\"TRUEPREDICATE\"), $manager.sourceContext, NO) != nil", "name == \"Ünï\" AND größe == 1",
    "<opaque \"App.Thing\"> AND a == <opaque \"App.Other\">", "x == -9223372036854775808",
    "x == 9.223372036854776e+18", "x == -9.223372036854776e+18",
  ])
  func printsAsParsed(_ text: String) throws {
    let predicate = try ModelPredicate(parsing: text)
    #expect(predicate.text == text)
    #expect(try ModelPredicate(parsing: predicate.text) == predicate)
  }

  /// Other spellings of the same.
  @Test(arguments: [
    ("a = 1", "a == 1"), ("a <> 1", "a != 1"), ("a =< 1 && b => 2", "a <= 1 AND b >= 2"),
    ("!(a == 1) || b==2", "(NOT a == 1) OR b == 2"), ("NONE a.b == 1", "NOT ANY a.b == 1"),
    ("some a.b contains 'x'", "ANY a.b CONTAINS \"x\""), ("((a)) == ((1))", "a == 1"),
    ("a == TRUE and b == null", "a == YES AND b == nil"), ("a == 0x1F", "a == 31"),
    ("a == \"\\u0041\"", "a == \"A\""), ("SELF.name == 1", "name == 1"), ("a==.5", "a == 0.5"),
    ("NOT NOT a == 1", "NOT (NOT a == 1)"), ("a == 'it\\'s'", "a == \"it's\""),
    ("CAST(5, 'NSDate') == a", "CAST(5.0, \"NSDate\") == a"), ("1 + 2 * 3 == a", "1 + 2 * 3 == a"),
    ("a like[c ] 'x'", "a LIKE[c] \"x\""),
    ("a == -09223372036854775808", "a == -9223372036854775808"),
  ])
  func readsOtherSpellings(_ text: String, _ canonical: String) throws {
    let predicate = try ModelPredicate(parsing: text)
    #expect(predicate.text == canonical)
    #expect(try ModelPredicate(parsing: canonical) == predicate)
  }

  /// The numbers beside which the integers end, and the ends of the floating-point numbers.
  @Test(
    arguments: [
      9_223_372_036_854_775_808, 9_223_372_036_854_774_784, 9_223_372_036_854_777_856, 1e19, 0.5,
      0, .greatestFiniteMagnitude, .leastNonzeroMagnitude, .infinity,
    ] as [Double])
  func numbersAtTheEdgesAreReadBack(_ value: Double) throws {
    for constant in [ExpressionConstant.real(value), .real(-value), .date(value), .date(-value)] {
      let expression = ModelExpression.constant(constant)
      #expect(try ModelExpression(parsing: expression.text) == expression, "\(expression.text)")
    }
  }

  @Test func aSelectorWithColonsEndsWithOne() {
    for text in ["now", "a:", "a:b:"] { #expect(PredicateSyntax.isSelector(text), "\(text)") }
    for text in ["a:b", "a::", ":", ""] { #expect(!PredicateSyntax.isSelector(text), "\(text)") }
  }

  @Test func treesAreAsMeant() throws {
    #expect(
      try ModelPredicate(parsing: "ANY a.b ==[c] $v.c + 1 AND NOT x IN {1, 'y'}")
        == .and([
          .compare(
            .path("a.b"), .equal,
            .call("add:to:", .keyPath("c", of: .variable("v")), .constant(.integer(1))),
            modifier: .any, options: .caseInsensitive),
          .not(
            .compare(
              .path("x"), .in,
              .aggregate([.constant(.integer(1)), .constant(.string("y"))]))),
        ]))
    #expect(
      try ModelExpression(parsing: "FUNCTION($manager, 'a:', $source.owner)")
        == .function(
          target: .variable("manager"), selector: "a:",
          arguments: [.keyPath("owner", of: .variable("source"))]))
    #expect(try ModelExpression(parsing: "a.b").plainKeyPath == "a.b")
    #expect(try ModelExpression(parsing: "(a).b") == .keyPath("b", of: .path("a")))
  }

  /// The text that Apple's own `predicateFormat` has for constants, which the hash takes in.
  @Test func appleText() throws {
    let predicate = try ModelPredicate(
      parsing: "a == YES AND b == 5.0 AND c > CAST(1.5, \"NSDate\") AND d == 0.5")
    #expect(
      predicate.predicateFormat
        == "a == 1 AND b == 5 AND c > CAST(1.500000, \"NSDate\") AND d == 0.5")
  }

  @Test(arguments: [
    ("", 0), ("a ==", 4), ("a == 'x", 5), ("a == 1 b", 7), ("(a == 1", 0), ("a == (1 +", 5),
    ("a == 1)", 6), ("a LIKE[z] 'x'", 7),
    ("a == %@", 5), ("in == 1", 0), ("a == 1 AND", 10), ("AND", 0),
    ("a == 99999999999999999999", 5),
    ("a == 1e999", 5), ("a == 3x", 5), ("SUBQUERY(a, b, c == 1) == 1", 12), ("a ?? b", 2),
    ("FUNCTION(a) == 1", 8), ("a == -b", 6), ("a == 9223372036854775808", 5), ("a.", 2),
  ])
  func errorsHaveTheirPlace(_ text: String, _ offset: Int) {
    let error = #expect(throws: PredicateFormatError.self) { try ModelPredicate(parsing: text) }
    #expect(error?.code == .syntax)
    #expect(error?.offset == offset, "\(text): \(error?.description ?? "")")
    #expect(ModelPredicate(text: text) == .unparsed(text))
    #expect(ModelPredicate(text: text).text == text)
  }

  static let hostileTexts = [
    String(repeating: "(", count: 30_000), String(repeating: "NOT ", count: 10_000) + "a == 1",
    String(repeating: "{", count: 60_000), "a == 1" + String(repeating: " + 1", count: 10_000),
    "a" + String(repeating: "[0]", count: 20_000) + " == 1",
    String(repeating: "SUBQUERY(a, $x, (", count: 3000), String(repeating: "x", count: 70_000),
    String(repeating: "(SUBQUERY(a, $x, (", count: 3000) + "b == 1",
    String(repeating: "a == 1 AND ", count: 5_900) + "a ==", String(repeating: "!", count: 60_000),
    String(repeating: "a UNION ", count: 8000) + "b == 1",
    String(repeating: "(", count: 30_000) + "a" + String(repeating: ")", count: 30_000) + "== 1",
  ]

  /// Text that nests, repeats or ends without end is refused with bounded work.
  @Test(arguments: hostileTexts.indices) func hostileText(_ place: Int) {
    let text = Self.hostileTexts[place]
    #expect(throws: PredicateFormatError.self) { try ModelPredicate(parsing: text) }
    #expect(throws: PredicateFormatError.self) { try ModelExpression(parsing: text + "!") }
    // What cannot even be cut into tokens costs no more than its length.
    guard var parser = try? PredicateParser(text) else { return }
    _ = try? parser.wholePredicate()
    #expect(parser.parts <= ModelExpression.maximumPartCount * 6 + 1)
  }

  @Test func mutilatedText() {
    var generator = HostileInputTests.Generator(state: HostileInputTests.seed)
    print("mutating predicates with LIFEBOAT_SEED=\(HostileInputTests.seed)")
    let sample = Array(
      "SUBQUERY(a.b, $x, NOT $x.c LIKE[cd] 'y*').@count + 2 BETWEEN {1, -5.5e3} OR #in == nil".utf8)
    let alphabet = Array("()[]{}<>=!&|'\"\\#$@.,:+-*/ aA0x\u{0}".utf8)
    for _ in 0..<4000 {
      var bytes = sample
      for _ in 0...Int.random(in: 0..<5, using: &generator) {
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        let new = alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: bytes[place] = new
        case 1: bytes.insert(new, at: place)
        default: bytes.remove(at: place)
        }
      }
      let text = String(decoding: bytes, as: UTF8.self)
      guard let predicate = try? ModelPredicate(parsing: text) else { continue }
      #expect(ModelPredicate(text: predicate.text) == predicate, "\(text)")
    }
  }

  // MARK: Random trees

  @Test func anyTreeIsReadBack() throws {
    print("random trees with LIFEBOAT_SEED=\(HostileInputTests.seed)")
    var trees = RandomTrees(generator: .init(state: HostileInputTests.seed))
    var archived = 0
    for _ in 0..<1500 {
      let predicate = trees.predicate(depth: 5)
      let text = predicate.text
      #expect(try ModelPredicate(parsing: text) == predicate, "\(text)")
      guard PredicateStanding(predicate).isWritable else { continue }
      var builder = KeyedArchiveBuilder()
      let root = PredicateArchiveWriter.write(predicate, into: &builder)
      let archive = try KeyedArchive(bytes: builder.bytes(root: root))
      #expect(ModelPredicate(archived: archive.root, in: archive) == predicate, "\(text)")
      archived += 1
    }
    #expect(archived > 300)
  }

  private struct RandomTrees {
    var generator: HostileInputTests.Generator

    mutating func pick<Element>(_ list: [Element]) -> Element {
      list[Int.random(in: 0..<list.count, using: &generator)]
    }

    mutating func predicate(depth: Int) -> ModelPredicate {
      if depth == 0 { return .constant(pick([true, false])) }
      switch Int.random(in: 0..<8, using: &generator) {
      case 0: return .and((0..<pick([2, 3])).map { _ in predicate(depth: depth - 1) })
      case 1: return .or((0..<pick([2, 3])).map { _ in predicate(depth: depth - 1) })
      case 2: return .not(predicate(depth: depth - 1))
      case 3: return pick([ModelPredicate.constant(true), .opaque(className: "App.\"x\"")])
      default:
        return .compare(
          expression(depth: depth - 1),
          pick([
            ModelPredicate.Operator.equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan,
            .greaterThanOrEqual,
            .matches, .like, .beginsWith, .endsWith, .in, .contains, .between, .selector("isX:"),
          ]), expression(depth: depth - 1),
          modifier: pick([ModelPredicate.Modifier.direct, .any, .all]),
          options: ModelPredicate.Options(rawValue: pick([0, 0, 1, 2, 3, 4, 9, 15])))
      }
    }

    mutating func expression(depth: Int) -> ModelExpression {
      let names = ["a", "name", "in", "a.b", "pages.@count", "größe", "and.or", "a b", "", "x.y.z"]
      if depth == 0 {
        return pick([ModelExpression.evaluatedObject, .path(pick(names)), .variable("v")])
      }
      switch Int.random(in: 0..<14, using: &generator) {
      case 0:
        return .constant(
          pick([
            ExpressionConstant.null, .bool(true), .bool(false), .integer(0), .integer(-7),
            .integer(.min),
            .integer(.max), .real(0.5), .real(-3), .real(1e300), .real(5), .decimal("-0.25"),
            .string(""), .string("a\"b\\c\n'ü\u{0}"), .date(12.5), .date(-1), .data([0, 255]),
            .uuid("3F2504E0-4F89-11D3-9A0C-0305E82C3301"), .url("https://a/b"), .type("NSString"),
          ]))
      case 1: return .keyPath(pick(names), of: expression(depth: depth - 1))
      case 2:
        return .function(
          target: pick([ModelExpression.variable("manager"), expression(depth: depth - 1)]),
          selector: pick(["f:", "f:g:", "x y"]),
          arguments: (0..<pick([0, 1, 2])).map { _ in expression(depth: depth - 1) })
      case 3:
        return .function(
          target: nil, selector: pick(["count:", "now", "in", "odd one"]),
          arguments: (0..<pick([0, 1, 2])).map { _ in expression(depth: depth - 1) })
      case 4, 5:
        return .call(
          pick([
            "add:to:", "from:subtract:", "multiply:by:", "divide:by:", "raise:toPower:",
            "castObject:toType:", "objectFrom:withIndex:",
          ]), expression(depth: depth - 1), expression(depth: depth - 1))
      case 6:
        return .call("castObject:toType:", .constant(.integer(1)), .constant(.string("NSDate")))
      case 7: return .aggregate((0..<pick([0, 1, 3])).map { _ in expression(depth: depth - 1) })
      case 8:
        return .subquery(
          expression(depth: depth - 1), variable: "x", predicate: predicate(depth: depth - 1))
      case 9:
        return .set(
          pick(ExpressionSetOperation.allCases), expression(depth: depth - 1),
          expression(depth: depth - 1))
      case 10:
        return .ternary(
          predicate(depth: depth - 1), expression(depth: depth - 1), expression(depth: depth - 1))
      case 11:
        return .fetch(
          request: expression(depth: depth - 1), context: expression(depth: depth - 1),
          countOnly: pick([true, false]))
      case 12:
        return pick([
          ModelExpression.anyKey, .symbol("FIRST"), .opaque(className: "NSBlockExpression"),
        ])
      default: return .path(pick(names))
      }
    }
  }

  // MARK: Archives

  /// Cycles, depth and repetition end in opaque parts.
  @Test func hostileArchives() throws {
    var builder = KeyedArchiveBuilder()
    let cycle = builder.reserve()
    builder.fill(
      cycle, ["NSCompoundPredicate", "NSPredicate", "NSObject"],
      ["NSCompoundPredicateType": .integer(1), "NSSubpredicates": .array([cycle, cycle])])
    // A tree of 2^40 parts from 40 objects.
    var bomb = builder.add(["NSTruePredicate", "NSPredicate", "NSObject"], [:])
    for _ in 0..<40 {
      bomb = builder.add(
        ["NSCompoundPredicate", "NSPredicate", "NSObject"],
        ["NSCompoundPredicateType": .integer(2), "NSSubpredicates": .array([bomb, bomb])])
    }
    let text = builder.string(String(repeating: "x", count: 60_000))
    let constant = builder.add(
      ["NSConstantValueExpression", "NSExpression", "NSObject"], ["NSConstantValue": text])
    let repeated = builder.add(
      ["NSAggregateExpression", "NSExpression", "NSObject"],
      ["NSCollection": .array(Array(repeating: constant, count: 9000))])
    let root = builder.array([cycle, bomb, repeated])
    let archive = try KeyedArchive(bytes: builder.bytes(root: root))
    for value in [cycle, bomb] {
      let predicate = try #require(ModelPredicate(archived: value, in: archive))
      #expect(!predicate.isWhole)
      #expect(ModelPredicate(text: predicate.text).text == predicate.text)
    }
    let expression = try #require(ModelExpression(archived: repeated, in: archive))
    #expect(expression.text.utf8.count < 1_000_000)
    #expect(!expression.isWhole)
    #expect(ModelPredicate(archived: .uid(0), in: archive) == nil)
    #expect(ModelExpression(archived: nil, in: archive) == nil)
  }

  /// Small archives in which one list of nils, one text or one piece of data is shared by all parts of a list.
  @Test func sharedNilsAndTextsEnd() throws {
    var builder = KeyedArchiveBuilder()
    let nils = builder.array(Array(repeating: KeyedArchiveBuilder.null, count: 300))
    let data = builder.add(
      ["NSData", "NSObject"], ["NS.data": .data([UInt8](repeating: 7, count: 60_000))])
    let text = builder.string(String(repeating: "x", count: 60_000))
    let aggregate = builder.add(
      ["NSAggregateExpression", "NSExpression", "NSObject"], ["NSCollection": nils])
    let arguments = builder.array(Array(repeating: aggregate, count: 300))
    let selector = builder.string("f:")
    var expressions = [
      builder.add(
        ["NSFunctionExpression", "NSExpression", "NSObject"],
        ["NSSelectorName": selector, "NSOperand": aggregate, "NSArguments": arguments])
    ]
    for part in [nils, data, text] {
      let list = builder.array(Array(repeating: part, count: 300))
      expressions.append(
        builder.add(
          ["NSConstantValueExpression", "NSExpression", "NSObject"], ["NSConstantValue": list]))
    }
    let root = builder.array(expressions)
    let archive = try KeyedArchive(bytes: builder.bytes(root: root))
    for value in expressions {
      let expression = try #require(ModelExpression(archived: value, in: archive))
      #expect(!expression.isWhole)
      #expect(expression.text.utf8.count < 200_000)
    }
  }
}
