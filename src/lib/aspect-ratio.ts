/** Name of the choice nearest to a target, by their proportion to it. */
export function nearestTo(choices: Readonly<Record<string, number>>, target: number): string {
  const distance = (name: string) => Math.abs(Math.log((choices[name] as number) / target));
  return Object.keys(choices).reduce((best, name) => (distance(name) < distance(best) ? name : best));
}

/**
 * Picks the aspect ratio nearest to an image's from the ratios that a provider takes.
 *
 * @example
 * nearestAspectRatio(["1:1", "16:9"], 1920 / 1080); // => "16:9"
 */
export function nearestAspectRatio(aspectRatios: readonly string[], target: number): string {
  const proportions = aspectRatios.map((name): [string, number] => {
    const [width, height] = name.split(":").map(Number);
    return [name, (width as number) / (height as number)];
  });
  return nearestTo(Object.fromEntries(proportions), target);
}
