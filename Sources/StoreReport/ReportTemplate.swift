/// The Mustache templates of reports, which contain template parts of ``PageFrame``.
enum ReportTemplate {
  static let text = """
    \(PageFrame.verdict)
    \(PageFrame.contents)
    {{#incident}}<section aria-labelledby="incident">
    <h2 id="incident">What happened</h2>
    {{#sentences}}<p>{{.}}</p>
    {{/sentences}}
    \(PageFrame.facts)
    </section>{{/incident}}
    <section aria-labelledby="facts">
    <h2 id="facts">The store</h2>
    \(PageFrame.facts)
    </section>
    {{#rows}}<section aria-labelledby="rows">
    <h2 id="rows">Rows</h2>
    {{#note}}<p>{{.}}</p>{{/note}}
    \(PageFrame.countTable)
    </section>{{/rows}}
    {{#changes}}<section aria-labelledby="changes">
    <h2 id="changes">Before and after</h2>
    <p>{{note}}</p>
    {{#hasRows}}<table class="sortable stacked changes" tabindex="0">
    <thead><tr><th scope="col">Row</th><th scope="col">Attribute</th><th scope="col">Before</th><th scope="col">Now</th><th scope="col">Found</th></tr></thead>
    <tbody>
    {{#rows}}{{#lines}}<tr class="{{fate}}"><th scope="row">{{name}}</th><td>{{attribute}}</td><td>{{before}}{{#beforeImage}}<img alt="" src="{{beforeImage}}">{{/beforeImage}}</td><td>{{after}}{{#afterImage}}<img alt="" src="{{afterImage}}">{{/afterImage}}</td><td>{{place}}</td></tr>
    {{/lines}}{{/rows}}
    </tbody>
    </table>{{/hasRows}}
    </section>{{/changes}}
    \(PageFrame.findingTable)
    {{#pages}}<section aria-labelledby="pages">
    <h2 id="pages">Pages</h2>
    \(PageStrip.template)
    </section>{{/pages}}
    {{#times}}<section aria-labelledby="times">
    <h2 id="times">When</h2>
    {{#svg}}<p class="key">From {{from}} to {{to}}; a bar for each {{unit}}. \(StackedBars.legend)</p>{{/svg}}
    {{#outOfRange}}<p>Dates before 1980, after 2080 or at the zero of the calendar are not shown: {{outOfRange}}.</p>{{/outOfRange}}
    {{#omitted}}<p>Dates that are too many to sort are not shown: {{omitted}}.</p>{{/omitted}}
    {{#svg}}<div class="strip" tabindex="0" role="group" aria-label="Histogram of dates">{{{svg}}}</div>{{/svg}}
    \(StackedBars.table)
    </section>{{/times}}
    {{#log}}<section aria-labelledby="log">
    <h2 id="log">Write-ahead log</h2>
    <p>{{note}}</p>
    {{#hasLines}}<table tabindex="0">
    <thead><tr><th scope="col" class="number">Commit</th><th scope="col" class="number">Frames</th><th scope="col" class="number">Pages</th><th scope="col">Changed</th></tr></thead>
    <tbody>
    {{#lines}}<tr><th scope="row" class="number">{{number}}</th><td class="number">{{frames}}</td><td class="number">{{pages}}</td><td>{{changed}}</td></tr>
    {{/lines}}
    </tbody>
    </table>{{/hasLines}}
    </section>{{/log}}
    {{#model}}<section aria-labelledby="model">
    <h2 id="model">The model</h2>
    {{#note}}<p>{{.}}</p>{{/note}}
    {{#hasChanges}}<ul>
    {{#changes}}<li>\(PageFrame.sentence)</li>
    {{/changes}}
    </ul>{{/hasChanges}}
    <div class="diagram" tabindex="0" role="group" aria-label="Diagram of the model">{{{svg}}}</div>
    </section>{{/model}}
    {{#hashes}}<section aria-labelledby="hashes">
    <h2 id="hashes">Version hashes</h2>
    {{#note}}<p>{{.}}</p>{{/note}}
    <table class="sortable" tabindex="0">
    <thead><tr><th scope="col">Entity</th><th scope="col">Hash in the store</th></tr></thead>
    <tbody>
    {{#lines}}<tr><th scope="row">{{name}}</th><td><code>{{hash}}</code></td></tr>
    {{/lines}}
    </tbody>
    </table>
    </section>{{/hashes}}
    <section aria-labelledby="method">
    <h2 id="method">How this was read</h2>
    {{#method}}<p>{{.}}</p>
    {{/method}}
    <table tabindex="0">
    <thead><tr><th scope="col">File</th><th scope="col" class="number">Bytes</th><th scope="col">SHA-256</th></tr></thead>
    <tbody>
    {{#files}}<tr><th scope="row">{{name}}</th><td class="number">{{bytes}}</td><td><code>{{hash}}</code></td></tr>
    {{/files}}
    </tbody>
    </table>
    </section>
    <section aria-labelledby="glossary">
    <h2 id="glossary">Words</h2>
    <dl>{{#glossary}}<dt>{{word}}</dt><dd>{{meaning}}</dd>
    {{/glossary}}</dl>
    </section>
    """

  /// The template for the content of a page that lists several stores.
  static let index = """
    <table class="sortable" tabindex="0">
    <thead><tr><th scope="col">Store</th><th scope="col">What it is</th><th scope="col">Verdict</th><th scope="col" class="number">Rows</th><th scope="col" class="number">Bytes</th></tr></thead>
    <tbody>
    {{#lines}}<tr class="{{tone}}"><th scope="row">{{name}}</th><td>{{kind}}</td><td>{{verdict}}</td><td class="number">{{rows}}</td><td class="number">{{bytes}}</td></tr>
    {{/lines}}
    </tbody>
    </table>
    <p>More of a store: <code>lifeboat report STORE -o FILE.html</code></p>
    """
}
