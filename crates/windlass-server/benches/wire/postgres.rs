//! PostgreSQL with the tables of TPC-H, set up for two cores and tables that fit into memory.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use futures_util::SinkExt as _;
use nix::sys::signal::Signal;
use tokio_postgres::{Client, Config, NoTls};
use tpchgen::csv::{
    CustomerCsv, LineItemCsv, NationCsv, OrderCsv, PartCsv, PartSuppCsv, RegionCsv, SupplierCsv,
};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

use crate::clients;
use crate::engine::free_address;
use crate::options::Options;
use crate::process::Process;

/// Bytes of rows that are sent at once.
const PART_BYTES: usize = 1 << 20;

const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// The tables of the specification, with their keys.
const SCHEMA: &str = "
create table region (r_regionkey bigint primary key, r_name text not null, r_comment text);
create table nation (n_nationkey bigint primary key, n_name text not null, n_regionkey bigint not null,
    n_comment text);
create table supplier (s_suppkey bigint, s_name text not null, s_address text not null,
    s_nationkey bigint not null, s_phone text not null, s_acctbal numeric(15,2) not null,
    s_comment text not null);
create table part (p_partkey bigint, p_name text not null, p_mfgr text not null, p_brand text not null,
    p_type text not null, p_size int not null, p_container text not null,
    p_retailprice numeric(15,2) not null, p_comment text not null);
create table partsupp (ps_partkey bigint not null, ps_suppkey bigint not null, ps_availqty int not null,
    ps_supplycost numeric(15,2) not null, ps_comment text not null);
create table customer (c_custkey bigint, c_name text not null, c_address text not null,
    c_nationkey bigint not null, c_phone text not null, c_acctbal numeric(15,2) not null,
    c_mktsegment text not null, c_comment text not null);
create table orders (o_orderkey bigint, o_custkey bigint not null, o_orderstatus text not null,
    o_totalprice numeric(15,2) not null, o_orderdate date not null, o_orderpriority text not null,
    o_clerk text not null, o_shippriority int not null, o_comment text not null);
create table lineitem (l_orderkey bigint not null, l_partkey bigint not null, l_suppkey bigint not null,
    l_linenumber int not null, l_quantity numeric(15,2) not null, l_extendedprice numeric(15,2) not null,
    l_discount numeric(15,2) not null, l_tax numeric(15,2) not null, l_returnflag text not null,
    l_linestatus text not null, l_shipdate date not null, l_commitdate date not null,
    l_receiptdate date not null, l_shipinstruct text not null, l_shipmode text not null,
    l_comment text not null);
";

/// Primary and foreign keys, and a date: what the specification allows.
const INDEXES: &str = "
alter table supplier add primary key (s_suppkey);
alter table part add primary key (p_partkey);
alter table partsupp add primary key (ps_partkey, ps_suppkey);
alter table customer add primary key (c_custkey);
alter table orders add primary key (o_orderkey);
alter table lineitem add primary key (l_orderkey, l_linenumber);
create index on nation (n_regionkey);
create index on supplier (s_nationkey);
create index on partsupp (ps_suppkey);
create index on customer (c_nationkey);
create index on orders (o_custkey);
create index on lineitem (l_partkey, l_suppkey);
create index on lineitem (l_suppkey);
create index on lineitem (l_shipdate);
vacuum analyze;
";

/// The tables fit into the shared buffers, a hash table of a heavy query into its memory.
const SETTINGS: &[&str] = &[
    "shared_buffers=4GB",
    "effective_cache_size=8GB",
    "work_mem=256MB",
    "maintenance_work_mem=1GB",
    "max_wal_size=8GB",
    "random_page_cost=1.1",
    "max_connections=300",
    "unix_socket_directories=",
    "fsync=off",
    "synchronous_commit=off",
    "autovacuum=off",
];

pub(crate) struct Postgres {
    programs: PathBuf,
    data: PathBuf,
    /// User and group, where this program runs as root, which PostgreSQL refuses.
    user: Option<(u32, u32)>,
    threads: usize,
    scale: f64,
}

impl Postgres {
    pub(crate) fn new(options: &Options, folder: &Path) -> anyhow::Result<Self> {
        let user = match id(&["-u"])? {
            0 => Some((id(&["-u", "postgres"])?, id(&["-g", "postgres"])?)),
            _ => None,
        };
        let data = folder.join(format!("postgres-{}", options.load.scale));
        fs::create_dir_all(&data)?;
        if let Some((user, group)) = user {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
            chown(&data, Some(user), Some(group))?;
        }
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700))?;
        Ok(Self {
            programs: options.postgres.clone(),
            data,
            user,
            threads: options.threads,
            scale: options.load.scale,
        })
    }

    /// Starts it with its tables, which it loads first if they are not there.
    pub(crate) fn start(&self, address: SocketAddr) -> anyhow::Result<Process> {
        let loaded = self.data.join("loaded");
        if !loaded.exists() {
            self.load()?;
            fs::write(&loaded, "")?;
        }
        self.listen(address)
    }

    fn load(&self) -> anyhow::Result<()> {
        let began = Instant::now();
        let mut init = self.program("initdb");
        init.args(["--auth=trust", "--username=bench", "--no-sync", "--locale=C"])
            .args(["--encoding=UTF8", "--pgdata"])
            .arg(&self.data);
        let done = init.output().context("initdb cannot be started")?;
        if !done.status.success() {
            bail!("initdb: {}", String::from_utf8_lossy(&done.stderr));
        }
        let address = free_address()?;
        let mut process = self.listen(address)?;
        let runtime = clients::runtime()?;
        runtime.block_on(async {
            let client = self.client(address, &mut process).await?;
            client.batch_execute(SCHEMA).await?;
            self.copy(&client).await?;
            for statement in INDEXES.split_terminator(";\n") {
                client.batch_execute(statement).await?;
            }
            anyhow::Ok(())
        })?;
        process.stop()?;
        eprintln!("PostgreSQL has its tables after {:.0?}", began.elapsed());
        Ok(())
    }

    async fn client(&self, address: SocketAddr, process: &mut Process) -> anyhow::Result<Client> {
        let mut config = Config::new();
        config
            .host(address.ip().to_string())
            .port(address.port())
            .user("bench")
            .dbname("postgres");
        let until = Instant::now() + STARTS_WITHIN;
        loop {
            process.ensure_runs()?;
            match config.connect(NoTls).await {
                Ok((client, connection)) => {
                    tokio::spawn(connection);
                    return Ok(client);
                }
                Err(error) if Instant::now() > until => return Err(error.into()),
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    async fn copy(&self, client: &Client) -> anyhow::Result<()> {
        macro_rules! copy {
            ($table:literal, $csv:ident, $generator:ident) => {
                let rows = $generator::new(self.scale, 1, 1);
                copy(client, $table, rows.iter().map($csv::new)).await?;
            };
        }
        copy!("region", RegionCsv, RegionGenerator);
        copy!("nation", NationCsv, NationGenerator);
        copy!("supplier", SupplierCsv, SupplierGenerator);
        copy!("part", PartCsv, PartGenerator);
        copy!("partsupp", PartSuppCsv, PartSuppGenerator);
        copy!("customer", CustomerCsv, CustomerGenerator);
        copy!("orders", OrderCsv, OrderGenerator);
        copy!("lineitem", LineItemCsv, LineItemGenerator);
        Ok(())
    }

    fn listen(&self, address: SocketAddr) -> anyhow::Result<Process> {
        let mut command = self.program("postgres");
        command.arg("-D").arg(&self.data);
        command.args(["-h", &address.ip().to_string(), "-p", &address.port().to_string()]);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        // The one that leads computes as well.
        let helpers = self.threads.saturating_sub(1);
        command.args(["-c", &format!("max_parallel_workers_per_gather={helpers}")]);
        command.args(["-c", &format!("max_parallel_workers={}", self.threads)]);
        command.stderr(fs::File::create(self.data.with_extension("log"))?);
        // Its fast shutdown: statements that run are ended.
        Process::start("PostgreSQL", command, Signal::SIGINT)
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.current_dir(&self.data);
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command
    }
}

async fn copy(
    client: &Client,
    table: &str,
    rows: impl Iterator<Item = impl std::fmt::Display>,
) -> anyhow::Result<()> {
    let sink = client
        .copy_in::<_, Bytes>(&format!("copy {table} from stdin (format csv)"))
        .await?;
    let mut sink = std::pin::pin!(sink);
    let mut part = String::new();
    for row in rows {
        writeln!(part, "{row}")?;
        if part.len() >= PART_BYTES {
            sink.send(std::mem::take(&mut part).into()).await?;
        }
    }
    sink.send(part.into()).await?;
    sink.finish().await?;
    Ok(())
}

fn id(arguments: &[&str]) -> anyhow::Result<u32> {
    let told = Command::new("id").args(arguments).output().context("id")?;
    let text = String::from_utf8_lossy(&told.stdout);
    let number = text.trim().parse();
    number.with_context(|| format!("`id {}` says {text:?}", arguments.join(" ")))
}
