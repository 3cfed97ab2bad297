import StoreExtraction
import Testing

@Suite struct NearestNameTests {
  @Test(
    arguments: [
      ("inspct", "inspect"), ("chekc", "check"), ("ROWS", "rows"), ("insp", "inspect"),
      ("verfy", "verify"), ("nonsense", nil), ("", nil), ("x", nil),
    ])
  func theNearestName(_ written: String, _ expected: String?) {
    let names = ["inspect", "check", "rows", "recover", "verify"]
    #expect(NearestName.of(written, among: names) == expected)
  }
}
