// Draws the charts that a page brings as Vega-Lite, in the page's width, and again when that changes.
// Expressions are interpreted (`ast`): the Content-Security-Policy allows no functions made from text.

const drawn = new Map();
let library;

function vega() {
  library ??= import(document.querySelector("script[data-vega]").dataset.vega).then(() => globalThis.vegaEmbed);
  return library;
}

const LEAST_PX = 240;
const NARROW_COLUMNS = 3;
const PANEL_AXIS_PX = 60;
const PANEL_EDGE_PX = 22;
const NARROW_NAMES_PX = 68;
const NARROW_PX = 520; // legends stand in one column below this

// A legend that says its own number of columns says one that does not fit a phone.
function narrowLegend(spec) {
  const inner = spec.spec ?? spec;
  const changed = { ...inner, encoding: narrowColour(inner.encoding) };
  // All layers share one legend, and its columns are only those that each of them says.
  if (inner.layer) changed.layer = inner.layer.map((layer) => ({ ...layer, encoding: narrowColour(layer.encoding) }));
  if (spec.spec) spec.spec = changed;
  else Object.assign(spec, changed);
}

function narrowColour(encoding) {
  const legend = encoding?.color?.legend;
  if (!(legend?.columns > NARROW_COLUMNS)) return encoding;
  return { ...encoding, color: { ...encoding.color, legend: { ...legend, columns: NARROW_COLUMNS } } };
}

// The pages' own letters: they have to be there before texts are measured.
const FONT = getComputedStyle(document.documentElement).getPropertyValue("--sans");
const letters = Promise.all(["400", "600"].map((weight) => document.fonts.load(`${weight} 12px ${FONT}`))).catch(() => {});

export async function draw(place, spec) {
  const [embed] = await Promise.all([vega(), letters]);
  const width = Math.max(LEAST_PX, place.clientWidth - 2);
  const sized = { ...spec, config: { ...spec.config, font: FONT } };
  if (typeof spec.width === "number") sized.width = width;
  if (spec.vconcat) {
    // Panels below each other have the same room for names, so that their axes of time stand below each other.
    const room = width < NARROW_PX ? Math.min(NARROW_NAMES_PX, spec.config.axisY.minExtent) : spec.config.axisY.minExtent;
    const axisY = { ...spec.config.axisY, minExtent: room, maxExtent: room, labelLimit: room - 10 };
    const panel = width - room - PANEL_EDGE_PX;
    Object.assign(sized, { config: { ...sized.config, axisY }, vconcat: spec.vconcat.map((each) => ({ ...each, width: panel })) });
  }
  if (spec.facet && typeof spec.spec?.width === "number") {
    // Panels are sized without their axes: as many side by side as the chart has, or one where there is no room.
    const columns = width < NARROW_PX ? 1 : spec.columns ?? 1;
    const panel = Math.floor((width - PANEL_AXIS_PX - (columns - 1) * (spec.spacing ?? 20)) / columns);
    Object.assign(sized, { columns, spec: { ...spec.spec, width: panel } });
  }
  if (width < NARROW_PX) {
    // A title that is wider than the plot beside long names would be cut in its middle, a label at the edge as well.
    const axisX = { ...spec.config?.axisX, titleAnchor: "end" };
    sized.config = { ...sized.config, axisX, legend: { ...spec.config?.legend, columns: 1 } };
    sized.padding ??= { left: 5, top: 5, bottom: 5, right: 18 };
  }
  drawn.get(place)?.result?.finalize();
  if (width < NARROW_PX) narrowLegend(sized);
  const target = document.createElement("div");
  const result = await embed(target, sized, { actions: false, ast: true, renderer: "svg", defaultStyle: false,
    tooltip: { disableDefaultStyle: true }, logLevel: 1 });
  // The figure itself has the role of an image and a text; its marks are not read one by one.
  target.querySelector("svg")?.setAttribute("aria-hidden", "true");
  place.replaceChildren(target);
  place.classList.add("drawn");
  drawn.set(place, { spec, width, result });
  return result.view;
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
    const place = document.getElementById(script.dataset.for);
    try {
      const view = await draw(place, JSON.parse(script.textContent));
      place.dispatchEvent(new CustomEvent("drawn", { detail: view }));
    } catch (error) {
      place.textContent = "This chart could not be drawn; the table has the same numbers.";
      console.error(error);
    }
    observer.observe(place);
  }
  document.body.dataset.charts = "drawn";
}
