import { createServer, type Socket } from "node:net";

/** A message as it was received. */
export interface ReceivedMail {
  from: string;
  to: string[];
  /** Headers and body. */
  text: string;
  /** The decoded login; absent when there was none. */
  login: string | undefined;
}

/** A mail server on the loopback that keeps what it is sent. */
export interface SmtpSink {
  readonly port: number;
  readonly mails: ReceivedMail[];
  /** Refuses recipients from now on, or accepts them again. */
  refuse(isRefusing: boolean): void;
  stop(): Promise<void>;
}

export async function startSmtpSink(): Promise<SmtpSink> {
  const mails: ReceivedMail[] = [];
  const sockets = new Set<Socket>();
  let isRefusing = false;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    talk(
      socket,
      (mail) => mails.push(mail),
      () => isRefusing,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as { port: number }).port,
    mails,
    refuse: (value) => {
      isRefusing = value;
    },
    stop: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

function talk(socket: Socket, keep: (mail: ReceivedMail) => void, isRefusing: () => boolean): void {
  let mail: ReceivedMail = { from: "", to: [], text: "", login: undefined };
  let isData = false;
  let rest = "";
  const answer = (line: string) => socket.write(`${line}\r\n`);
  const take = (line: string) => {
    if (isData) {
      if (line !== ".") mail.text += `${line}\n`;
      else {
        isData = false;
        keep(mail);
        mail = { from: "", to: [], text: "", login: mail.login };
        answer("250 accepted");
      }
      return;
    }
    const [, address = ""] = /<([^>]*)>/.exec(line) ?? [];
    if (/^EHLO/i.test(line)) answer("250-sink\r\n250 AUTH PLAIN");
    else if (/^AUTH PLAIN/i.test(line)) {
      mail.login = atob(line.split(" ")[2] ?? "")
        .replaceAll("\0", " ")
        .trim();
      answer("235 welcome");
    } else if (/^MAIL/i.test(line)) {
      mail.from = address;
      answer("250 ok");
    } else if (/^RCPT/i.test(line)) {
      if (!isRefusing()) mail.to.push(address);
      answer(isRefusing() ? "550 no such mailbox" : "250 ok");
    } else if (/^DATA/i.test(line)) {
      isData = true;
      answer("354 go on");
    } else if (/^QUIT/i.test(line)) {
      answer("221 bye");
      socket.end();
    } else answer("250 ok");
  };
  answer("220 sink");
  socket.on("data", (bytes) => {
    const lines = (rest + bytes.toString()).split("\r\n");
    rest = lines.pop() ?? "";
    for (const line of lines) take(line);
  });
}
