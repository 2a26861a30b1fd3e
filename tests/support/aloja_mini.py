"""Write a small dump and a small run folder in ALOJA's formats; no row is from its data."""

from __future__ import annotations

from pathlib import Path

START_S = 1_400_000_000
"""2014-05-13 16:53:20 UTC, when the first run starts; it takes 100 s."""
FIRST = "20140513_165000_conf_IB_SSD_b_m12_i10_r1_I65536_c3_z128/terasort"
SECOND = "20140513_170000_conf_ETH_HDD_b_m8_i20_r2_I4096_c0_z64/sort"

EXECS = (
    "CREATE TABLE `execs` (\n  `id_exec` int(11) NOT NULL AUTO_INCREMENT,\n  `id_cluster` int(11) DEFAULT NULL,\n"
    "  `exec` varchar(255) DEFAULT NULL,\n  `bench` varchar(255) DEFAULT NULL,\n"
    "  `exe_time` decimal(20,3) DEFAULT NULL,\n  `start_time` datetime DEFAULT NULL,\n"
    "  `end_time` datetime DEFAULT NULL,\n  `net` varchar(255) DEFAULT NULL,\n  `disk` varchar(255) DEFAULT NULL,\n"
    "  `bench_type` varchar(255) DEFAULT NULL,\n  `maps` int(11) DEFAULT NULL,\n  `iosf` int(11) DEFAULT NULL,\n"
    "  `replication` int(11) DEFAULT NULL,\n  `iofilebuf` int(11) DEFAULT NULL,\n  `comp` int(11) DEFAULT NULL,\n"
    "  `blk_size` int(11) DEFAULT NULL,\n  `valid` int(11) DEFAULT '1',\n  PRIMARY KEY (`id_exec`),\n"
    "  UNIQUE KEY `exec_UNIQUE` (`exec`)\n) ENGINE=InnoDB AUTO_INCREMENT=11 DEFAULT CHARSET=latin1;\n"
)
EXEC_ROWS = (
    f"(1,1,'{FIRST}','terasort',100.000,'2014-05-13 16:53:20','2014-05-13 16:55:00','IB','SSD','HiBench',"
    "12,10,1,65536,3,128,1)",
    f"(2,1,'{SECOND}','sort',50.000,'2014-05-13 17:00:00','2014-05-13 17:00:50','ETH','HDD','HiBench',"
    "8,20,2,4096,0,64,0)",
)
CLUSTERS = (
    "CREATE TABLE `clusters` (\n  `id_cluster` int(11) NOT NULL DEFAULT '0',\n  `name` varchar(127) DEFAULT NULL,\n"
    "  `vm_cores` int(11) DEFAULT NULL,\n  PRIMARY KEY (`id_cluster`)\n) ENGINE=InnoDB;\n"
    "INSERT INTO `clusters` VALUES (1,'ours',4),(2,'the other\\'s',NULL);\n"
)
TASK_COLUMNS = (
    "id_JOB_job_tasks",
    "id_exec",
    "job_name",
    "JOBID",
    "TASKID",
    "TASK_TYPE",
    "TASK_STATUS",
    "START_TIME",
    "FINISH_TIME",
    "SHUFFLE_TIME",
    "SORT_TIME",
    "FILE_BYTES_WRITTEN",
    "FILE_BYTES_READ",
    "HDFS_BYTES_WRITTEN",
    "HDFS_BYTES_READ",
    "Spilled Records",
)


def table(name: str, columns: tuple[str, ...], *rows: str) -> str:
    """Return a table's definition and its rows, as mysqldump writes them."""
    defined = ",\n".join(f"  `{column}` varchar(255) DEFAULT NULL" for column in columns)
    made = f"DROP TABLE IF EXISTS `{name}`;\nCREATE TABLE `{name}` (\n{defined},\n  KEY `index2` (`{columns[0]}`)\n);\n"
    return made + (f"LOCK TABLES `{name}` WRITE;\nINSERT INTO `{name}` VALUES {','.join(rows)};\n" if rows else "")


def task(number: int, kind: str, begin: str, end: str, more: str = "NULL,NULL", execution: int = 1) -> str:
    """Return a row of JOB_tasks; the times are minutes and seconds after 16 o'clock."""
    letter, day = kind[0].lower(), "2014-05-13 16"
    return (
        f"({number},{execution},'job_201405131650_0002','job_201405131650_0002',"
        f"'task_201405131650_0002_{letter}_{number:06}',"
        f"'{kind}','SUCCESS','{day}:{begin}','{day}:{end}',{more},500,NULL,NULL,1000,7)"
    )


def reduce_times(shuffled: str, merged: str) -> str:
    """Return the two columns of a reduce's times."""
    return f"'2014-05-13 16:{shuffled}','2014-05-13 16:{merged}'"


def sar(name: str, columns: str, rows: list[str]) -> str:
    """Return a table of sar's."""
    return table(name, ("id", "id_exec", "host", "interval", "date", *columns.split()), *rows)


def dump(*more: str, execs: tuple[str, ...] = EXEC_ROWS) -> str:
    """Return a whole dump: two runs, the first with tasks, samples and a row for each second of its job's phases."""
    tasks = table(
        "JOB_tasks",
        TASK_COLUMNS,
        task(9, "SETUP", "53:21", "53:22"),
        task(0, "MAP", "53:22", "54:00"),
        task(1, "MAP", "53:23", "54:02"),
        task(2, "REDUCE", "53:50", "54:58", reduce_times("54:10", "54:12")),
    )
    seconds = [f"2014-05-13 16:{53 + (20 + t) // 60}:{(20 + t) % 60:02}" for t in range(100)]
    status = table(
        "JOB_status",
        ("id", "id_exec", "date", "maps", "shuffle", "merge", "reduce", "waste"),
        *(
            f"({t},1,'{at}',{int(2 <= t < 42)},{int(30 <= t < 50)},{int(50 <= t < 52)},{int(52 <= t < 98)},0)"
            for t, at in enumerate(seconds)
        ),
    )
    at = ["2014-05-13 16:53:21", "2014-05-13 16:53:22", "2014-05-13 16:53:25"]
    cpu = sar(
        "SAR_cpu",
        "CPU %user %nice %system %iowait %steal %idle",
        [f"({n},1,'w1',1.000,'{t}','-1',24.000,1.000,5.000,20.000,0.000,50.000)" for n, t in enumerate(at)],
    )
    disks = sar(
        "SAR_block_devices",
        "DEV tps rd_sec/s wr_sec/s avgqu-sz %util",
        [
            f"({n},1,'w1',1.000,'{t}','{dev}',9.000,2000.000,1000.000,0.500,50.000)"
            for n, t in enumerate(at)
            for dev in ("dev8-0", "dev253-0")
        ],
    )
    memory = sar("SAR_memory_util", "kbmemfree kbmemused kbcached", [f"(1,1,'w1',1.000,'{at[0]}',1000,3000,500)"])
    nics = sar(
        "SAR_net_devices",
        "IFACE rxkB/s txkB/s",
        [f"(1,1,'w1',1.000,'{at[0]}','{nic}',1000.000,500.000)" for nic in ("eth0", "bond0", "lo")],
    )
    bwm = table(
        "BWM2",
        ("id", "id_exec", "host", "unix_timestamp", "iface_name", "bytes_in", "bytes_out"),
        f"(1,1,'w2',{START_S + 1},'ib0',2000.000,3000.000)",
        f"(2,1,'w2',{START_S + 1},'total',9,9)",
    )
    vmstat = table("VMSTATS", ("id", "id_exec", "host", "time", "free", "cache", "bi", "bo", "us", "sy", "id_", "wa"))
    vmstat = vmstat.replace("`id_`", "`id`").replace("  `id` varchar(255) DEFAULT NULL,\n", "  `n` int(11),\n", 1)
    vmstat = vmstat.replace("KEY `index2` (`id`)", "KEY `index2` (`n`)")
    vmstat += (
        "INSERT INTO `VMSTATS` VALUES (1,1,'w2',0,1000,200,50,60,1,1,97,1),(2,1,'w2',1,900,300,10,20,30,10,59,1);\n"
    )
    return (
        "-- MySQL dump 10.13  Distrib 5.5.41, for debian-linux-gnu (x86_64)\n--\n"
        "-- Host: localhost    Database: aloja2\n"
        f"/*!40101 SET NAMES utf8 */;\n{EXECS}INSERT INTO `execs` VALUES {','.join(execs)};\n{CLUSTERS}"
        f"{tasks}{status}{cpu}{disks}{memory}{nics}{bwm}{vmstat}{''.join(more)}"
        "-- Dump completed on 2014-05-14 10:00:00\n"
    )


def history(job: int = 2, submit_s: float = 1, end_s: float = 99, status: str = "SUCCESS") -> str:
    """Return a job's history as Hadoop 1 writes it: one map, one reduce; times in seconds from the run's start."""

    def ms(time_s: float) -> int:
        return round((START_S + time_s) * 1000)

    ids = f"201405131650_{job:04}"
    maps, reduces = f"attempt_{ids}_m_000000_0", f"attempt_{ids}_r_000000_0"
    group = r"{(FileSystemCounters)(FileSystemCounters)[(HDFS_BYTES_READ)(HDFS_BYTES_READ)(1000)]}"
    task_group = (
        r"{(org\.apache\.hadoop\.mapred\.Task$Counter)(Map-Reduce Framework)[(SPILLED_RECORDS)(Spilled Records)(7)]"
        r"[(CPU_MILLISECONDS)(CPU time spent \\(ms\\))(2500)]}"
    )
    return (
        f'Meta VERSION="1" .\nJob JOBID="job_{ids}" JOBNAME="Tera\\"Sort" USER="ann" SUBMIT_TIME="{ms(submit_s)}" .\n'
        f'Job JOBID="job_{ids}" LAUNCH_TIME="{ms(submit_s)}" TOTAL_MAPS="1" TOTAL_REDUCES="1" JOB_STATUS="PREP" .\n'
        f'MapAttempt TASK_TYPE="SETUP" TASKID="task_{ids}_m_000002" TASK_ATTEMPT_ID="attempt_{ids}_m_000002_0" '
        f'START_TIME="{ms(submit_s)}" TRACKER_NAME="tracker_w1:localhost/127\\.0\\.0\\.1:5" HTTP_PORT="1" .\n'
        f'MapAttempt TASK_TYPE="MAP" TASKID="task_{ids}_m_000000" TASK_ATTEMPT_ID="{maps}" '
        f'START_TIME="{ms(submit_s + 1)}" TRACKER_NAME="tracker_w1:localhost/127\\.0\\.0\\.1:5" HTTP_PORT="1" .\n'
        f'MapAttempt TASK_TYPE="MAP" TASKID="task_{ids}_m_000000" TASK_ATTEMPT_ID="{maps}" TASK_STATUS="SUCCESS" '
        f'FINISH_TIME="{ms(end_s - 6)}" HOSTNAME="/default-rack/w1\\.lan" STATE_STRING="" '
        f'COUNTERS="{group}{task_group}" .\n'
        f'ReduceAttempt TASK_TYPE="REDUCE" TASKID="task_{ids}_r_000000" TASK_ATTEMPT_ID="{reduces}" '
        f'START_TIME="{ms(submit_s + 3)}" TRACKER_NAME="tracker_w2:5" HTTP_PORT="1" .\n'
        f'ReduceAttempt TASK_TYPE="REDUCE" TASKID="task_{ids}_r_000000" TASK_ATTEMPT_ID="{reduces}" '
        f'TASK_STATUS="SUCCESS" SHUFFLE_FINISHED="{ms(end_s - 5)}" SORT_FINISHED="{ms(end_s - 4)}" '
        f'FINISH_TIME="{ms(end_s - 1)}" HOSTNAME="/default-rack/w2" STATE_STRING="a\nb" COUNTERS="{group}" .\n'
        f'Job JOBID="job_{ids}" FINISH_TIME="{ms(end_s)}" JOB_STATUS="{status}" FINISHED_MAPS="1" FINISHED_REDUCES="1" '
        f'FAILED_MAPS="0" FAILED_REDUCES="0" COUNTERS="{group}" .\n'
    )


def sent(bench: str, end_s: int, duration_s: int, conf: str) -> str:
    """Return the line of a log that tells how long a benchmark took."""
    url = f"http://zabbix.example/screens.php?&fullscreen=0&stime=20140513165320&period={duration_s}"
    return f"SENDING: hibench.runs {end_s} <a href='{url}'>{bench} {conf}</a> <strong>Time:</strong> {duration_s} s.\n"


VMSTAT = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ----cpu----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa\n"
    " 0  0      0   1000     10    200    0    0    50    60    2    3  1  1 97  1\n"
    " 2  0      0    900     10    300    0    0    10    20  962  875 30 10 59  1\n"
)
BWM = (
    f"{START_S};eth0;0.00;0.00;0.00;0;0;0.00;0.00;0.00;0;0;0.00;0.00;0;0\n"
    f"{START_S + 1};eth0;3000.00;2000.00;5000.00;2000;3000;1.00;1.00;2.00;1;1;0.00;0.00;0;0\n"
)
CONFIG = (
    "BASH=/bin/bash\nNET=IB\nDISK=SS2\nBENCH_SUITE=HiBench2\nMAX_MAPS=6\nIO_FACTOR=20\nREPLICATION=3\nIO_FILE=131072\n"
    "COMPRESS_TYPE=1\nBLOCK_SIZE=134217728\nHADOOP_VERSION=hadoop-2.7.1\nBENCH_DATA_SIZE=1000000000\n"
    f'EXEC_TIME=([terasort]="100.250" [prep_terasort]="20.5" )\nEXEC_START=([terasort]="{START_S}000" )\n'
    f'EXEC_END=([terasort]="{START_S}000" )\nEXEC_STATUS=([terasort]="0" [prep_terasort]="1" )\n'
).replace(f'EXEC_END=([terasort]="{START_S}000"', f'EXEC_END=([terasort]="{START_S + 100}250"')


def write_folder(parent: Path, name: str = FIRST.partition("/")[0]) -> Path:
    """Write a run folder of the older form, with two benchmarks and the files that come with them."""
    folder, conf = parent / name, f"conf_{name.partition('_conf_')[2]}"
    job_folder = folder / "terasort"
    (job_folder / "history" / "done").mkdir(parents=True)
    log = sent("prep_terasort", START_S - 20, 60, conf) + sent("terasort", START_S + 100, 100, conf)
    (folder / f"log_{name}.log").write_text(f"{START_S - 90} : Starting execution of HiBench\n{log}")
    (job_folder / "vmstat-w1.log").write_text(VMSTAT)
    (job_folder / "bwm-w1.log").write_text(BWM)
    (job_folder / "sar-w1.sar").write_bytes(b"\x96\xd5\0\0")
    (job_folder / "history" / "done" / "job_201405131650_0001_1_ann_prep").write_text(history(1, -80, -21))
    (job_folder / "history" / "done" / "job_201405131650_0002_1_ann_sort").write_text(history())
    (job_folder / "history" / "done" / "job_201405131650_0002_conf.xml").write_text("<configuration/>")
    return folder
