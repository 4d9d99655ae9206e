"""`make bench`: one exchange beside ssh, then the command line as a whole."""

from benchmarks import bench_preview, bench_ssh

bench_ssh.main((1, 10))
bench_preview.main((1, 10))
