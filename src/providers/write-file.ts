import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

/** A text on the disk, under a name that no loader reads. */
interface PreparedFile {
  /** Puts it in the place of the file at once: a reader has the old text or the new one, also after a power failure. */
  place(): void;
  discard(): void;
}

/**
 * Writes a text to a temporary file next to its target. The name is unique and must not exist: two writers never share
 * it, and a link placed there by another process is not followed. The folder is created if it is missing.
 *
 * @throws {Error} With the code of the file system.
 */
export function prepareFile(path: string, text: string, mode?: number): PreparedFile {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true });
  const fresh = join(folder, `.${basename(path)}.${crypto.randomUUID()}.tmp`);
  const discard = () => rmSync(fresh, { force: true });
  try {
    // Its readers stay the same, unless the caller names them.
    const before = existsSync(path) ? statSync(path).mode & 0o777 : 0o666;
    const descriptor = openSync(fresh, "wx", mode ?? before);
    try {
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    discard();
    throw error;
  }
  return {
    place() {
      renameSync(fresh, path);
      syncFolder(folder);
    },
    discard,
  };
}

/** Replaces a file by {@link prepareFile}. @throws {Error} With the code of the file system; the file is as it was then. */
export function replaceFile(path: string, text: string): void {
  const file = prepareFile(path, text);
  try {
    file.place();
  } catch (error) {
    file.discard();
    throw error;
  }
}

/** Not every file system can do it, and the file is in its place already. */
function syncFolder(folder: string): void {
  try {
    const descriptor = openSync(folder, "r");
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // The name may come back as it was after a power failure; the text is whole either way.
  }
}
