import { TextField } from "./field.tsx";

/** Texts of fields for whole numbers, such as limits; an empty text means no limit. */
export function toFigureTexts<Name extends string>(
  figures: Readonly<Record<Name, number | null>>,
): Record<Name, string> {
  const texts = Object.entries<number | null>(figures).map(([name, figure]) => [name, String(figure ?? "")]);
  return Object.fromEntries(texts);
}

/** The numbers of such texts, as the API takes them. */
export function readFigures<Name extends string>(texts: Readonly<Record<Name, string>>): Record<Name, number | null> {
  const figures = Object.entries<string>(texts).map(([name, text]) => [name, text.trim() === "" ? null : Number(text)]);
  return Object.fromEntries(figures);
}

/** Whether a text is empty, or a whole number that is not too small. */
export function isFigure(text: string, least: 0 | 1 = 1): boolean {
  return text.trim() === "" || (/^\d{1,15}$/.test(text.trim()) && Number(text) >= least);
}

/** A field for a whole number. */
export function FigureField(field: Parameters<typeof TextField>[0]) {
  return <TextField inputMode="numeric" autoComplete="off" {...field} />;
}

/** A field for US dollars. */
export function UsdField(field: Parameters<typeof TextField>[0]) {
  return <TextField inputMode="decimal" autoComplete="off" {...field} />;
}
