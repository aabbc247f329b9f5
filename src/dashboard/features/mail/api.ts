import useSWR, { mutate } from "swr";
import { organization, request, slowRefresh } from "../../data/api.ts";

const { mail_server: mailServer } = organization;

async function getMailServer() {
  const { server, from_environment } = await request(mailServer.get());
  return { smtp: server && { ...server, from_environment } };
}

export type SmtpServer = NonNullable<Awaited<ReturnType<typeof getMailServer>>["smtp"]>;

export const useMailServer = () => useSWR("mail-server", getMailServer, slowRefresh);

const refresh = () => mutate("mail-server");

export async function setSmtp(smtp: Parameters<typeof mailServer.put>[0]): Promise<void> {
  await request(mailServer.put(smtp));
  await refresh();
}

export async function removeSmtp(): Promise<void> {
  await request(mailServer.delete());
  await refresh();
}
