/** The disk of a host, as far as the spool uses one: what was not synced goes when the host does, and stays when a process ends. */
import type { Host, Process, World } from "./world.ts";

const root = "/simulated/";

/** Folder of the spool of every host, each on its own disk. */
export const spoolFolder = `${root}spool`;

export function isOfDisk(path: string): boolean {
  return path.startsWith(root);
}

interface File {
  readonly ino: number;
  text: string;
  /** How much of it a loss of power leaves. */
  syncedLength: number;
}

const disks = new WeakMap<Host, Disk>();

/** The disk of the host whose code runs. */
export function diskOf(world: World, host: Host | undefined = world.process?.host): Disk {
  if (host === undefined) throw new Error("No process runs, so there is no disk");
  let disk = disks.get(host);
  if (disk === undefined) {
    disk = new Disk(world);
    disks.set(host, disk);
  }
  return disk;
}

function failure(code: string): Error {
  return Object.assign(new Error(`${code}: the simulated disk`), { code });
}

class Disk {
  /** Whether it takes no more. */
  isFull = false;
  readonly #world: World;
  #files = new Map<string, File>();
  /** The files whose names a loss of power leaves. */
  #linked = new Map<string, File>();
  #inodes = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** What is not synced is gone. */
  losePower(): void {
    this.#files = new Map(this.#linked);
    for (const file of this.#files.values()) file.text = file.text.slice(0, file.syncedLength);
  }

  /** All files are gone, as with the volume of a pod. */
  erase(): void {
    this.#files.clear();
    this.#linked.clear();
  }

  async mkdir(): Promise<void> {
    await this.#wait();
  }

  async readdir(folder: string): Promise<string[]> {
    await this.#wait();
    const names = [...this.#files.keys()].filter((path) => path.startsWith(`${folder}/`));
    if (names.length === 0) throw failure("ENOENT");
    return names.map((path) => path.slice(folder.length + 1));
  }

  async readFile(path: string): Promise<string> {
    await this.#wait();
    return this.#find(path).text;
  }

  async stat(path: string): Promise<{ ino: number; size: number }> {
    await this.#wait();
    const { ino, text } = this.#find(path);
    return { ino, size: text.length };
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#wait();
    const file = this.#find(from);
    for (const names of [this.#files, this.#linked]) {
      names.delete(from);
      names.set(to, file);
    }
  }

  async rm(path: string): Promise<void> {
    await this.#wait();
    this.#files.delete(path);
    this.#linked.delete(path);
  }

  async open(path: string, flags: string) {
    await this.#wait();
    const isFolder = flags === "r";
    let file = this.#files.get(path);
    if (!isFolder && file === undefined) {
      if (this.isFull) throw failure("ENOSPC");
      this.#inodes += 1;
      file = { ino: this.#inodes, text: "", syncedLength: 0 };
      this.#files.set(path, file);
    }
    return {
      stat: async () => {
        await this.#wait();
        return { ino: file?.ino, size: file?.text.length };
      },
      appendFile: async (text: string) => {
        await this.#wait();
        // A disk that fills up takes a piece.
        (file as File).text += this.isFull ? text.slice(0, text.length >> 1) : text;
        if (this.isFull) throw failure("ENOSPC");
      },
      sync: async () => {
        await this.#wait();
        if (isFolder) this.#linked = new Map(this.#files);
        else (file as File).syncedLength = (file as File).text.length;
      },
      close: () => this.#wait(),
    };
  }

  #find(path: string): File {
    const file = this.#files.get(path);
    if (file === undefined) throw failure("ENOENT");
    return file;
  }

  /** Each operation takes a moment, in which others may come between. */
  #wait(): Promise<void> {
    const process = this.#world.process as Process;
    return new Promise((resolve) => this.#world.in(0.05 + this.#world.below(100) / 100, process, () => resolve()));
  }
}
