const paletteSize = 12;
const storageKey = "modelgate-colours";
const places = new Map<string, number>(readPlaces());

/**
 * The custom property with the colour of a model, or of anything else that a chart shows by name. A name gets the next
 * free colour when it is first shown and keeps it in this browser, on every page and in every order.
 */
export function seriesColour(name: string): string {
  let place = places.get(name);
  if (place === undefined) {
    place = places.size;
    places.set(name, place);
    try {
      localStorage.setItem(storageKey, JSON.stringify([...places.keys()]));
    } catch {
      // Storage is blocked: the colours last until the page is closed.
    }
  }
  return `--series-${(place % paletteSize) + 1}`;
}

/** The colour of what is summed up as "others". */
export const otherColour = "--series-other";

function readPlaces(): [string, number][] {
  try {
    const names: unknown = JSON.parse(localStorage.getItem(storageKey) ?? "[]");
    return Array.isArray(names) ? names.map((name, place) => [String(name), place]) : [];
  } catch {
    return [];
  }
}
