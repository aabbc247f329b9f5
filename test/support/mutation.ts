import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A change of a source file. */
export interface Edit {
  readonly file: string;
  /** A text that stands once in the file, and what is put in its place. */
  readonly from: string;
  readonly to: string;
}

/** A copy of the sources and their tests, in which a change is tried. */
export class SourceCopy {
  readonly folder = mkdtempSync(join(tmpdir(), "modelgate-mutants-"));

  constructor() {
    const project = join(import.meta.dir, "../..");
    for (const name of ["src", "plugins", "test", "catalogue", "package.json", "tsconfig.json", "bunfig.toml"]) {
      cpSync(join(project, name), join(this.folder, name), { recursive: true });
    }
    symlinkSync(join(project, "node_modules"), join(this.folder, "node_modules"));
  }

  /** Makes these changes, and returns what takes them back. @throws When a text does not stand once in its file. */
  edit(edits: readonly Edit[]): () => void {
    const sources = new Map<string, string>();
    for (const { file, from, to } of edits) {
      const path = join(this.folder, file);
      const source = readFileSync(path, "utf8");
      if (!sources.has(path)) sources.set(path, source);
      if (source.split(from).length !== 2) throw new Error(`This text does not stand once in ${file}: ${from}`);
      writeFileSync(
        path,
        source.replace(from, () => to),
      );
    }
    return () => {
      for (const [path, source] of sources) writeFileSync(path, source);
    };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
