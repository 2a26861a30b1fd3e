// Draws the Vega-Lite charts of a page at the page's width, and redraws them when the width changes.
// Expressions are interpreted (`ast`), because the Content-Security-Policy forbids functions made from text.

const drawn = new Map();
let library;

function vega() {
  // Published pages load the library with a script element: browsers import no module from a file.
  const loaded = globalThis.vegaEmbed ? Promise.resolve() : import(document.querySelector("script[data-vega]").dataset.vega);
  library ??= loaded.then(() => globalThis.vegaEmbed);
  return library;
}

const LEAST_PX = 240;
const NARROW_COLUMNS = 3;
const PANEL_AXIS_PX = 60;
const PANEL_EDGE_PX = 22;
const NARROW_NAMES_PX = 68;
const NARROW_PADDING_PX = 10; // the first label can begin below the lowest label of the vertical axis
const NARROW_TICKS = 3; // labels of more ticks touch each other
const LABEL_GAP_PX = 8; // labels that are nearer to each other are left out
const NARROW_EDGE_PX = 28; // half of the widest label of a horizontal axis: 100,000
const TITLE_LETTER_PX = 7; // widest mean letter of a panel's title
const STACKED_PX = 800; // several legends next to each other need more
const NARROW_PX = 520; // narrower legends have one column

const NARROW_LETTERS = 18; // of the longest name of a narrow legend with two columns
// A legend with a fixed number of columns can be too wide for a phone.
function narrowLegend(spec) {
  const inner = spec.spec ?? spec;
  const changed = { ...inner, encoding: narrowColour(inner.encoding) };
  // All layers share one legend. It has columns only if every layer states their number.
  if (inner.layer) changed.layer = inner.layer.map((layer) => ({ ...layer, encoding: narrowColour(layer.encoding) }));
  if (spec.spec) spec.spec = changed;
  else Object.assign(spec, changed);
}

function narrowColour(encoding) {
  const legend = encoding?.color?.legend;
  const longest = Math.max(0, ...(encoding?.color?.scale?.domain ?? []).map((name) => String(name).length));
  const columns = longest > NARROW_LETTERS ? 1 : NARROW_COLUMNS;
  if (!(legend?.columns > columns)) return encoding;
  return { ...encoding, color: { ...encoding.color, legend: { ...legend, columns } } };
}

const NAME_LETTERS = 20; // of a line of a row's name on a phone
const NAME_LINE_PX = 14;
const NAME_GAP_PX = 6;

// On a phone, the names of rows have several lines, so that the plot has at least half of the width.
function narrowNames(spec) {
  const named = [spec, ...spec.layer].map((part) => part.encoding?.y).find((y) => y?.axis?.labelExpr);
  if (!named) return;
  const longest = Math.max(0, ...rowsOf(spec).map((row) => wrapped(String(row[named.field] ?? ""), NAME_LETTERS).length));
  const lines = `split(trim(replace(datum.label, regexp('(.{1,${NAME_LETTERS}})(?: +|$)', 'g'), '$1\\n')), '\\n')`;
  const change = (part) => {
    const y = part.encoding?.y;
    if (!y?.axis?.labelExpr) return part;
    const labelOffset = { expr: `-${NAME_LINE_PX / 2} * (length(${lines}) - 1)` };
    const axis = { ...y.axis, labelExpr: lines, labelBaseline: "middle", labelOffset, labelLineHeight: NAME_LINE_PX };
    return { ...part, encoding: { ...part.encoding, y: { ...y, axis } } };
  };
  Object.assign(spec, change(spec));
  spec.layer = spec.layer.map(change);
  const bars = spec.encoding?.yOffset?.sort?.length ?? 1; // each bar of a name has the height of a step
  if (spec.height?.step) spec.height = { step: Math.max(spec.height.step, (NAME_LINE_PX * longest + NAME_GAP_PX) / bars) };
}

/** Return the lines of a text with at most `most` letters each; a longer word is a line. */
function wrapped(text, most) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line && line.length + 1 + word.length > most) lines.push(word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines;
}

const LEGEND_LETTER_PX = 6.5;
const LEGEND_SYMBOL_PX = 34;

// A legend without a number of columns is one line, and one with too many is too wide: Vega cuts it at the chart's edge.
function fittedLegend(spec, width) {
  const names = spec.encoding?.color?.scale?.domain ?? [];
  const least = spec.encoding?.color?.legend?.columns ?? names.length;
  spec.encoding = withColumns(spec.encoding, width, least);
  // A legend of a layer counts only with a stated number of columns.
  if (spec.layer) spec.layer = spec.layer.map((part) => ({ ...part, encoding: withColumns(part.encoding, width, part.encoding?.color?.legend?.columns ?? 0) }));
}

// Legends of colour, shape and opacity are one legend only if they have the same number of columns.
function withColumns(encoding, width, most) {
  const longest = Math.max(0, ...(encoding?.color?.scale?.domain ?? []).map((name) => String(name).length));
  const columns = Math.max(1, Math.floor(width / (LEGEND_SYMBOL_PX + LEGEND_LETTER_PX * longest)));
  if (!longest || most <= columns) return encoding;
  const changed = { ...encoding };
  for (const channel of ["color", "shape", "opacity"]) {
    if (changed[channel]?.field === encoding.color.field) changed[channel] = { ...changed[channel], legend: { ...changed[channel].legend, columns } };
  }
  return changed;
}

function narrowPanel(spec, panelPx, widthPx) {
  const sized = { ...spec, width: panelPx, title: wrappedTitle(spec.title, panelPx) };
  const legend = sized.encoding?.color?.legend;
  if (widthPx >= NARROW_PX || !legend?.columns) return sized;
  return { ...sized, encoding: { ...sized.encoding, color: { ...sized.encoding.color, legend: { ...legend, columns: 1 } } } };
}

// A title that is wider than its panel continues on further lines: Vega would cut it at the edge.
function wrappedTitle(title, panelPx) {
  if (typeof title?.text !== "string") return title;
  return { ...title, text: wrapped(title.text, Math.floor(panelPx / TITLE_LETTER_PX)) };
}

// Load the pages' fonts before texts are measured.
const FONT = getComputedStyle(document.documentElement).getPropertyValue("--sans");
const letters = Promise.all(["400", "600"].map((weight) => document.fonts.load(`${weight} 12px ${FONT}`))).catch(() => {});

export async function draw(figure, spec) {
  const [embed] = await Promise.all([vega(), letters]);
  const width = Math.max(LEAST_PX, figure.clientWidth - 2);
  const sized = { ...spec, config: { ...spec.config, font: FONT } };
  if (typeof spec.width === "number") sized.width = width;
  if (spec.vconcat) {
    // Panels in a column have equal space for names, so that their time axes are aligned.
    const room = width < NARROW_PX ? Math.min(NARROW_NAMES_PX, spec.config.axisY.minExtent) : spec.config.axisY.minExtent;
    const axisY = { ...spec.config.axisY, minExtent: room, maxExtent: room, labelLimit: room - 10 };
    const panel = width - room - PANEL_EDGE_PX;
    Object.assign(sized, { config: { ...sized.config, axisY }, vconcat: spec.vconcat.map((panelSpec) => narrowPanel(panelSpec, panel, width)) });
  }
  if (spec.facet && typeof spec.spec?.width === "number") {
    // Panel sizes exclude axes. Panels are side by side as in the chart, or one per row on a narrow page.
    const columns = width < NARROW_PX ? 1 : spec.columns ?? 1;
    const panel = Math.floor((width - PANEL_AXIS_PX - (columns - 1) * (spec.spacing ?? 20)) / columns);
    Object.assign(sized, { columns, spec: { ...spec.spec, width: panel } });
  }
  if (width < NARROW_PX) {
    // A title that is wider than the plot next to long names would be cut in the middle, and a label at the edge.
    const axisX = { ...spec.config?.axisX, titleAnchor: "end", tickCount: NARROW_TICKS, labelFlush: false, labelPadding: NARROW_PADDING_PX, labelSeparation: LABEL_GAP_PX };
    sized.config = { ...sized.config, axisX, legend: { ...spec.config?.legend, columns: 1 } };
    sized.padding ??= { left: 5, top: 5, bottom: 5, right: NARROW_EDGE_PX };
  }
  fittedLegend(sized, width);
  drawn.get(figure)?.result?.finalize();
  if (width < NARROW_PX) {
    if (sized.layer) narrowNames(sized);
    narrowLegend(sized);
  }
  if (width < STACKED_PX) {
    const legend = sized.config?.legend;
    // Several legends are below each other.
    sized.config = { ...sized.config, legend: { ...legend, layout: { ...legend?.layout, top: { ...legend?.layout?.top, direction: "vertical" } } } };
  }
  const target = document.createElement("div");
  const result = await embed(target, sized, { actions: false, ast: true, renderer: "svg", defaultStyle: false,
    tooltip: { disableDefaultStyle: true }, logLevel: 1 });
  // The figure has the role of an image and a text, so that screen readers do not read each mark.
  target.querySelector("svg")?.setAttribute("aria-hidden", "true");
  figure.replaceChildren(target);
  figure.classList.add("drawn");
  // A drawing that is wider than its column scrolls, so it must accept the keyboard focus.
  if (figure.scrollWidth > figure.clientWidth) figure.tabIndex = 0;
  else figure.removeAttribute("tabindex");
  drawn.set(figure, { spec, width, result });
  offerDownloads(figure);
  return result.view;
}

const FORMATS = {
  PNG: (figure) => drawn.get(figure).result.view.background("white").toImageURL("png", 2),
  SVG: async (figure) => textUrl(await drawn.get(figure).result.view.background("white").toSVG(), "image/svg+xml"),
  CSV: (figure) => textUrl(csvOf(drawn.get(figure).spec), "text/csv"),
};

const textUrl = (text, type) => URL.createObjectURL(new Blob([text], { type }));

/** Add a button for each format to the figure of a chart, once. */
function offerDownloads(figure) {
  const frame = figure.closest("figure.chart");
  if (!frame || frame.querySelector(".downloads")) return;
  const buttons = Object.entries(FORMATS).map(([format, make]) => {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "quiet", textContent: format });
    button.setAttribute("aria-label", `Download the chart as ${format}`);
    button.addEventListener("click", async () => {
      const href = await make(figure);
      drawn.get(figure).result.view.background(null);
      Object.assign(document.createElement("a"), { href, download: `${figure.id}.${format.toLowerCase()}` }).click();
      if (href.startsWith("blob:")) setTimeout(() => URL.revokeObjectURL(href), 10_000);
    });
    return button;
  });
  const bar = Object.assign(document.createElement("div"), { className: "downloads" });
  bar.append(...buttons);
  frame.append(bar);
}

/** Return all rows of a chart as CSV, with a column for each field. */
function csvOf(spec) {
  const rows = rowsOf(spec).filter((row) => Object.keys(row).some((name) => name !== "one"));
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [names, ...rows.map((row) => names.map((name) => row[name]))].map((cells) => cells.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** Return the rows of all data in a specification, its layers and its panels. */
function rowsOf(part) {
  if (!part || typeof part !== "object") return [];
  if (Array.isArray(part)) return part.flatMap(rowsOf);
  const values = Array.isArray(part.data?.values) ? part.data.values.filter((row) => row && typeof row === "object") : [];
  const named = Object.values(part.datasets ?? {}).flat();
  return [...values, ...named, ...["layer", "vconcat", "hconcat", "concat", "spec"].flatMap((name) => rowsOf(part[name]))];
}

export async function drawAll() {
  const data = [...document.querySelectorAll("script[data-for]")];
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const known = drawn.get(target);
      if (known && Math.abs(Math.max(LEAST_PX, target.clientWidth - 2) - known.width) > 4) {
        known.width = Math.max(LEAST_PX, target.clientWidth - 2);
        draw(target, known.spec).then((view) => target.dispatchEvent(new CustomEvent("drawn", { detail: view })));
      }
    }
  });
  for (const script of data) {
    const figure = document.getElementById(script.dataset.for);
    try {
      const view = await draw(figure, JSON.parse(script.textContent));
      figure.dispatchEvent(new CustomEvent("drawn", { detail: view }));
    } catch (error) {
      figure.textContent = "This chart could not be drawn; the table has the same numbers.";
      console.error(error);
    }
    observer.observe(figure);
  }
  document.body.dataset.charts = "drawn";
}
