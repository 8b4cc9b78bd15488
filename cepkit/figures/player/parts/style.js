const STYLE = `
:host { display: block; container: player / inline-size; color-scheme: light;
  --ink: var(--jp-ui-font-color1, var(--vscode-editor-foreground, #1c1e21));
  --soft: var(--jp-ui-font-color2, #5c6066); --line: var(--jp-border-color2, #d5d8dc);
  --paper: var(--jp-layout-color0, var(--vscode-editor-background, #ffffff)); --shade: rgba(120, 128, 140, .11);
  --fire: #b84a00; --cool: #0072B2; --good: #00684c; --focus: #0072B2; }
:host([data-theme="dark"]) { color-scheme: dark;
  --ink: var(--jp-ui-font-color1, var(--vscode-editor-foreground, #e6e7e9));
  --soft: var(--jp-ui-font-color2, #a4a8ae); --line: var(--jp-border-color2, #3c4046);
  --paper: var(--jp-layout-color0, var(--vscode-editor-background, #15171a)); --shade: rgba(150, 160, 175, .15);
  --fire: #ff8f3f; --cool: #56B4E9; --good: #4ac7a0; --focus: #56B4E9; }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
.player { color: var(--ink); background: var(--paper); font: 13px/1.45 ${FAMILY};
  padding: 10px; text-align: left; font-variant-numeric: tabular-nums; min-width: 0; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 1px; border-radius: 4px; }
.player:focus-visible { outline-offset: -2px; }
h3, h4, p, pre, dl, dd, dt, figure, ol { margin: 0; padding: 0; }
.soft, .rest { color: var(--soft); font-weight: 400; }
.banner { padding: 6px 10px; margin-bottom: 8px; border-left: 4px solid #E69F00; background: var(--shade); }
.pattern { font: 12.5px/1.6 ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace; white-space: pre-wrap; overflow-wrap: anywhere; margin-bottom: 8px; }
.pattern span { border-radius: 3px; border-bottom: 2px solid transparent; }
.pattern .held { background: color-mix(in srgb, var(--good) 22%, transparent); border-bottom: 2px solid var(--good); }
.pattern .failed { background: color-mix(in srgb, var(--fire) 16%, transparent); border-bottom: 2px dotted var(--fire); }
.tape { display: flex; gap: 3px; align-items: flex-start; margin-bottom: 8px; min-height: 66px; }
.event { flex: 1 1 0; min-width: 0; max-width: var(--most); padding: 0; border: 0; background: none; color: inherit; font: inherit; cursor: pointer; text-align: center; }
.event .box { display: block; border-radius: 5px; border: 2px solid transparent; padding: 2px 0 1px; line-height: 1.25; }
.event b, .event i, .event .time, .event .badge { display: block; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
.event b { font-size: 12px; } .event i { font-style: normal; font-size: 10.5px; min-height: 1.25em; }
.event .time { font-size: 9.5px; letter-spacing: -.02em; color: var(--soft); } .event .badge { font-size: 10.5px; font-weight: 700; min-height: 1.3em; line-height: 1.3; color: var(--fire); }
.event.past .box, .event.now .box { background: var(--hue); color: var(--on); }
.event.now .box { border-color: var(--ink); box-shadow: 0 0 0 1px var(--paper) inset; }
.event.now .time { color: var(--ink); font-weight: 700; letter-spacing: -.05em; overflow: visible; }
.event.future .box { border: 2px dashed var(--hue); padding: 2px 0 1px; }
.tape.bare { min-height: 52px; } .bare .badge { display: none; }
.more { align-self: center; color: var(--soft); }
.transport { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 10px; margin-bottom: 6px; }
.buttons { display: flex; gap: 4px; flex-wrap: wrap; }
.transport button, .transport select { min-width: 32px; height: 32px; padding: 0 6px; display: inline-flex; align-items: center; justify-content: center;
  color: var(--ink); background: var(--paper); border: 1px solid var(--line); border-radius: 5px; font: inherit; cursor: pointer; }
.transport button:hover, .transport select:hover { background: var(--shade); }
.scrub { flex: 1 1 220px; min-width: 140px; position: relative; height: 32px; }
.scrub input { width: 100%; height: 26px; margin: 0; accent-color: var(--cool); cursor: pointer; }
.ticks { position: absolute; left: 8px; right: 8px; bottom: 1px; width: calc(100% - 16px); height: 6px; pointer-events: none; overflow: visible; }
.ticks path { stroke: var(--fire); stroke-width: 1.6; vector-effect: non-scaling-stroke; }
.transport select { max-width: 12em; } .jump { width: 7.5em; height: 32px; padding: 0 6px; font: inherit; color: inherit; background: none; border: 1px solid var(--line); border-radius: 5px; }
.jump[aria-invalid="true"] { border-color: var(--fire); }
.count { min-width: 6.5em; text-align: right; }
.keys { background: var(--shade); border-radius: 6px; padding: 8px 12px; margin-bottom: 8px; }
.keys dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(250px, 1fr)); gap: 2px 16px; margin-bottom: 4px; }
.keys dl div { display: flex; gap: 8px; } .keys dt { font-weight: 700; min-width: 8.5em; }
.sentence { min-height: 3em; padding: 4px 0 6px; overflow-wrap: anywhere; }
.sentence.long { min-height: 4.5em; }
.quiz { border: 1px solid var(--line); border-left: 4px solid var(--cool); border-radius: 6px; padding: 8px 12px 10px; margin-bottom: 8px; background: var(--shade); }
.quizhead { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 14px; margin-bottom: 4px; } .quizhead h3 { font-size: 14px; } .score { margin-left: auto; color: var(--soft); }
.dots { display: inline-flex; flex-wrap: wrap; gap: 4px; } .dots i { width: 16px; height: 16px; border-radius: 50%; border: 1.5px solid var(--line); background: var(--paper); font: 700 10px/13px ${FAMILY}; text-align: center; }
.dots .asked { border-color: var(--cool); border-width: 3px; } .dots .right { color: var(--good); border-color: var(--good); } .dots .wrong { color: var(--fire); border-color: var(--fire); }
.asks, .verdict { font-size: 14px; padding: 2px 0 8px; } .verdict.right b { color: var(--good); } .verdict.wrong > b { color: var(--fire); }
.options { display: flex; flex-wrap: wrap; gap: 6px; }
.quiz button { min-height: 34px; padding: 3px 10px; display: inline-flex; align-items: center; gap: 8px; font: inherit; color: var(--ink); background: var(--paper); border: 1.5px solid var(--line); border-radius: 6px; cursor: pointer; text-align: left; }
.quiz button:hover:not(:disabled) { border-color: var(--cool); } .quiz button:disabled { color: var(--soft); cursor: default; }
.quiz .option[aria-pressed="true"] { border-color: var(--fire); box-shadow: inset 0 0 0 1px var(--fire); background: color-mix(in srgb, var(--fire) 10%, var(--paper)); }
.quiz kbd { font: 700 11px/16px ${FAMILY}; min-width: 16px; text-align: center; border: 1px solid var(--line); border-radius: 3px; color: var(--soft); }
.quiz .next:not(:disabled) { color: var(--paper); background: var(--cool); border-color: var(--cool); font-weight: 600; }
.actions { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 10px; margin-top: 8px; }
.quiz table { font-size: 12.5px; } .quiz td { padding: 3px 10px 3px 0; overflow-wrap: anywhere; } .quiz td:nth-child(2) span + span { margin-left: 8px; } .quiz td:first-child { width: 1.8em; } .quiz tr.extended td:first-child { color: var(--good); font-weight: 700; }
.cards { display: grid; gap: 8px; grid-template-columns: minmax(0, 1fr); }
.card { container: card / inline-size; border: 1px solid var(--line); border-radius: 6px; padding: 8px 10px; min-width: 0; }
.card h3 { font-size: 14px; overflow-wrap: anywhere; }
.facts { display: flex; flex-wrap: wrap; gap: 0 14px; font-size: 12px; margin-bottom: 2px; }
.facts div { display: flex; gap: 5px; } .facts dt { color: var(--soft); } .facts dd { font-weight: 700; }
.head { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: 4px 10px; }
.zoom { display: inline-flex; gap: 4px; }
.zoom button { width: 28px; height: 28px; padding: 0; display: inline-flex; align-items: center; justify-content: center; color: var(--soft); background: none; border: 1px solid var(--line); border-radius: 5px; cursor: pointer; }
.zoom button:hover { background: var(--shade); color: var(--ink); }
.diagram { overflow: auto; max-height: 34em; }
.diagram > svg { display: block; margin: 0 auto; font-family: inherit; }
.edge .line { fill: none; stroke: var(--soft); stroke-width: 1.3; } .edge .head { fill: var(--soft); }
.edge.store .line { stroke-dasharray: 6 4; } .edge.ignore .line { stroke-dasharray: 1.5 3.5; }
.edge.fired .line { stroke: var(--fire); stroke-width: 3.2; } .edge.fired .head { fill: var(--fire); stroke: var(--fire); stroke-width: 2; }
.edge.refused .line { stroke: var(--cool); stroke-width: 2.4; stroke-dasharray: 7 4; } .edge.refused .head { fill: var(--cool); }
.node > rect { fill: var(--paper); stroke: var(--ink); stroke-width: 1.4; }
.node > text { text-anchor: middle; font-size: 12.5px; font-weight: 600; fill: var(--ink); }
.node.final > rect { fill: #F0E442; stroke: #111; } .node.final > text { fill: #111; }

.node.shared:not(.final) > rect { fill: #CDE7F7; stroke: #0072B2; stroke-width: 2.4; } .node.shared:not(.final) > text { fill: #111; }
.node.unvisited > rect { stroke: var(--soft); stroke-dasharray: 3 3; fill: var(--paper); } .node.unvisited > text { fill: var(--soft); font-weight: 400; }
.node.chosen > rect:first-child { stroke: var(--fire); stroke-width: 3; }
.node.matched > rect:first-child { stroke: var(--fire); stroke-width: 4; animation: flash .5s ease-out; }
@keyframes flash { from { stroke-width: 16; } }
.token { cursor: pointer; } .token .reach { fill: transparent; } .token circle { stroke: var(--ink); stroke-width: .6; } .token .reach { stroke: none; }
.token.new circle:last-child { stroke-width: 2.4; } .token.chosen circle:last-child { stroke: var(--fire); stroke-width: 3.4; }
.ground { fill: var(--paper); opacity: .86; }
.label { text-anchor: middle; font-size: 10.5px; fill: var(--ink); stroke: var(--paper); stroke-width: 3; paint-order: stroke; stroke-linejoin: round; }
.label.ends { text-anchor: end; } .label.begins { text-anchor: start; }
.label.name { font-size: 11.5px; font-weight: 700; } .label.small { font-size: 10px; fill: var(--soft); } .label.count { font-weight: 700; fill: var(--fire); }
.lineage { background: var(--shade); border-radius: 5px; padding: 6px 10px; margin: 4px 0; max-height: 13em; overflow: auto; }
.lineage ol { padding-left: 1.4em; } .lineage h4 { display: flex; justify-content: space-between; }
.panes { display: grid; grid-template-columns: minmax(0, 1fr); gap: 8px; margin-top: 6px; }
.pane h4 { font-size: 12px; display: flex; flex-wrap: wrap; gap: 0 8px; justify-content: space-between; border-bottom: 1px solid var(--line); }
.body { height: 10.4em; overflow: auto; padding: 3px 2px; font-size: 12px; }
.evaluation { padding: 2px 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
.outcome { display: inline-block; min-width: 5.6em; font-weight: 700; } .held .outcome { color: var(--good); } .refused .outcome { color: var(--fire); }
.conditions { display: inline-flex; flex-wrap: wrap; gap: 0 10px; margin-left: 8px; } .condition { white-space: nowrap; color: var(--soft); }
.link { font: inherit; color: inherit; background: none; border: 0; padding: 1px 4px; min-width: 28px; min-height: 28px; cursor: pointer; text-decoration: underline dotted; text-underline-offset: 2px; }
.link.chosen { font-weight: 700; color: var(--fire); }
.stored { display: grid; grid-template-columns: minmax(2em, max-content) 1fr; gap: 8px; padding: 2px 0; border-bottom: 1px solid var(--line); }
.chip { display: inline-block; border-left: 5px solid var(--hue); background: var(--shade); border-radius: 3px; padding: 0 4px; white-space: nowrap; }
.chip.new { outline: 1.5px solid var(--ink); outline-offset: -1px; font-weight: 700; } .chip.gone, tr.gone .chip { text-decoration: line-through; color: var(--soft); }
table { border-collapse: collapse; width: 100%; } th { text-align: left; font-weight: 400; color: var(--soft); }
td, th { padding: 1px 6px 1px 0; vertical-align: top; border-bottom: 1px solid var(--line); } td:first-child { white-space: nowrap; } .body td { vertical-align: middle; }
tr.new td { font-weight: 600; } tr.gone td { color: var(--soft); } tr.chosen td { background: color-mix(in srgb, var(--fire) 14%, transparent); }
.pieces { display: flex; flex-wrap: wrap; gap: 8px 22px; align-items: flex-start; margin-top: 4px; }
.piece { min-width: 0; max-width: 100%; } .piece h4 { font-size: 12px; } .scroll { position: relative; overflow-x: auto; max-height: 22em; overflow-y: auto; min-height: 3.6em; }
.counts { width: auto; font-size: 13.5px; } .counts th, .counts td { padding: 2px 8px 2px 0; white-space: nowrap; } .counts th { vertical-align: bottom; border-bottom: 1.5px solid var(--soft); }
.counts th b { color: var(--ink); } .counts th.written { box-shadow: inset 0 -3px var(--fire); } .counts th.read { box-shadow: inset 0 -3px var(--cool); }
.counts th:not(:first-child), .counts .number { text-align: right; } .counts .number { min-width: 3em; padding: 2px 5px; } .counts th { padding-right: 5px; }
.counts .zero { color: var(--soft); } .counts .changed { color: var(--ink); background: color-mix(in srgb, var(--fire) 17%, transparent); box-shadow: inset 0 -2px var(--fire); }
.counts .source { font-weight: 700; box-shadow: inset 0 0 0 1.5px var(--cool); border-radius: 3px; } .counts .sum { color: var(--soft); } .counts .changed .sum { color: var(--ink); }
.counts .absent, .counts th.absent { text-align: center; color: var(--fire); padding: 2px 4px; } .counts .left { text-align: right; color: var(--soft); }
.counts tr.new > td, .counts tr.new .number { font-weight: 400; } .counts tr.new > td:first-child .chip { outline: 1.5px solid var(--ink); outline-offset: -1px; font-weight: 700; }
.counts > tbody > tr.gone > td { color: var(--soft); text-decoration: line-through; } .counts .start { text-decoration: none; }
.snapshot { width: auto; margin-left: auto; border-left: 3px solid var(--line); } .counts .snapshot td { border-bottom: 0; padding: 0 0 0 8px; } .snapshot .number { min-width: 1.6em; } .snapshot tr.gone td { text-decoration: line-through; color: var(--soft); }
.counts .mine { font-weight: 700; }
.total { margin-top: 6px; padding: 4px 8px; background: var(--shade); border-left: 4px solid transparent; border-radius: 3px; overflow-wrap: anywhere; }
.total.out { border-left-color: var(--fire); }
.event.expiry b { text-decoration: line-through; } .event.expiry.past .box, .event.expiry.now .box { background: var(--shade); color: var(--ink); border-style: dotted; }
.charts { display: grid; align-items: end; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); gap: 8px 16px; margin-top: 10px; }
figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 8px; font-size: 12px; }
.values { display: inline-flex; flex-wrap: wrap; align-items: center; gap: 0 8px; } .values span { white-space: nowrap; }
.plot { position: relative; height: 72px; border-bottom: 1px solid var(--line); background: var(--shade); cursor: crosshair; touch-action: pan-y; }
.plot svg { display: block; width: 100%; height: 100%; overflow: visible; }
.plot .most { position: absolute; left: 3px; top: 0; font-size: 10px; color: var(--soft); pointer-events: none; }
.series, .sample path { fill: none; stroke-width: 1.8; vector-effect: non-scaling-stroke; }
.line0, .line0 path { stroke: var(--cool); } .line1, .line1 path { stroke: var(--fire); } .line2, .line2 path { stroke: var(--good); } .line3, .line3 path { stroke: #CC79A7; }
.sample { margin-right: 5px; vertical-align: middle; } .sample path { stroke-width: 2.4; }
.axis { stroke: var(--line); fill: none; } .cursor { stroke: var(--ink); stroke-width: 1.2; vector-effect: non-scaling-stroke; }
@container card (min-width: 330px) { .panes { grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); } .pane:first-child { grid-column: 1 / -1; } .pane:first-child .body { height: 6.9em; } }
@container card (min-width: 480px) { .counts > tbody > tr > .number { min-width: 5.6em; } }
@container card (min-width: 720px) { .panes { grid-template-columns: minmax(0, 3fr) minmax(0, 2fr) minmax(0, 3fr); } .pane:first-child { grid-column: auto; } .pane:first-child .body { height: 10.4em; } }
@container player (min-width: 720px) { .of2, .of3 { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
@container player (min-width: 1100px) { .of3 { grid-template-columns: repeat(3, minmax(0, 1fr)); } }
@media (prefers-reduced-motion: reduce) { * { animation: none !important; transition: none !important; } }
@media print { .transport { display: none; } .body { height: auto; } .scroll { max-height: none; } }
`;

