import { readList, writeItem } from "../storage.ts";

const paletteSize = 12;
const storageKey = "modelgate-colours";
const places = new Map(readList(storageKey).map((name, place) => [String(name), place]));

/**
 * The custom property with the colour of a model, or of anything else that a chart shows by name. A name gets the next
 * free colour when it is first shown and keeps it in this browser, on every page and in every order.
 */
export function seriesColour(name: string): string {
  let place = places.get(name);
  if (place === undefined) {
    place = places.size;
    places.set(name, place);
    writeItem(storageKey, JSON.stringify([...places.keys()]));
  }
  return `--series-${(place % paletteSize) + 1}`;
}

/** The colour of what is summed up as "others". */
export const otherColour = "--series-other";
