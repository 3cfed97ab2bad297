import ModelTools

/// The CSS rules of this target's pictures, for the style sheet of a page and for SVG files.
enum PictureStyle {
  /// Returns a picture as an element of an HTML page. `id` is the id of the picture. The title is for screen readers.
  /// The title's id is `id` followed by `-title`.
  static func svg(_ width: Int, _ height: Int, _ id: String, title: String, _ body: String)
    -> String
  {
    "<svg viewBox=\"0 0 \(width) \(height)\" width=\"\(width)\" height=\"\(height)\" role=\"img\" aria-labelledby=\"\(id)-title\"><title id=\"\(id)-title\">\(PictureText.html(title))</title>\(body)</svg>"
  }

  static func all(_ colours: PictureColours) -> String {
    words(colours) + strip(colours) + bars(colours) + flow(colours)
  }

  private static func words(_ colours: PictureColours) -> String {
    """
    .label { font-size: 12px; } .label.quiet { fill: \(colours.quiet); } .label.end { text-anchor: end; }
    .label.middle { text-anchor: middle; } .label.strong { font-weight: 600; font-size: 13px; }
    .axis { stroke: \(colours.sameLine); } .grid { stroke: \(colours.rule); }

    """
  }

  /// Returns the CSS rules for a picture in an SVG file of its own, which has no page with a style sheet. The rules for
  /// fonts and text colour come before the rules of the pictures.
  static func alone(_ colours: PictureColours) -> String {
    """
    svg { font: 12px system-ui, sans-serif; } svg text { fill: \(colours.text); }
    .heading { font-size: 16px; font-weight: 600; }

    """ + all(colours)
  }

  /// Returns the CSS rules for ``PageStrip`` and ``TreeLanes``.
  private static func strip(_ colours: PictureColours) -> String {
    """
    .page.table { fill: \(colours.rows); } .page.index { fill: \(colours.entries); } \
    .page.overflow { fill: \(colours.long); }
    .page.free { fill: \(colours.free); } .page.other { fill: \(colours.rest); } \
    .page.orphan { fill: \(colours.alone); } .page.damaged { fill: \(colours.lost); }
    .mark { stroke: \(colours.text); stroke-width: 2; fill: none; }
    .mark.halo { stroke: \(colours.back); stroke-width: 5; }
    .lane { fill: \(colours.same); stroke: \(colours.rule); }
    .page.part1 { fill-opacity: 0.45; } .page.part2 { fill-opacity: 0.6; } .page.part3 { fill-opacity: 0.8; }

    """
  }

  /// Returns the CSS rules for ``StackedBars``.
  private static func bars(_ colours: PictureColours) -> String {
    """
    rect.inserts { fill: \(colours.rows); } rect.updates { fill: \(colours.rest); } \
    rect.deletes { fill: \(colours.alone); }
    rect.changes, rect.others { fill: \(colours.entries); } rect.dates { fill: \(colours.long); }
    rect.sound { fill: \(colours.rest); } rect.care { fill: \(colours.alone); }

    """
  }

  /// Returns the CSS rules for ``PlanFlow``.
  private static func flow(_ colours: PictureColours) -> String {
    """
    .place rect { fill: \(colours.same); stroke: \(colours.sameLine); }
    .place.end rect { fill: \(colours.added); stroke: \(colours.addedLine); stroke-width: 2; }
    .way path { fill: none; stroke-width: 2; stroke: \(colours.sameLine); }
    .way.mapping path { stroke: \(colours.addedLine); }
    .way.uncertain path { stroke: \(colours.changedLine); stroke-dasharray: 6 4; }
    .way.refused path { stroke: \(colours.removedLine); stroke-dasharray: 6 4; }
    .way path.tip { stroke-dasharray: none; }
    .label.loss { fill: \(colours.removedLine); font-weight: 600; }

    """
  }
}
