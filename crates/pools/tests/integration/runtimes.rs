//! Pools inside a tokio runtime of either flavour, and without one.

use std::io;
use std::time::Duration;

use pools::{MixedError, Pools};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::support::pools;

fn both_flavours() -> [Runtime; 2] {
    let mut multi = Builder::new_multi_thread();
    let multi = multi.worker_threads(2).enable_all().build();
    [Builder::new_current_thread().enable_all().build(), multi].map(Result::unwrap)
}

#[test]
fn cpu_tasks_are_awaited_in_either_flavour_and_without_a_runtime() {
    let pools = pools(2);
    for runtime in both_flavours() {
        let sum = runtime.block_on(async {
            let tasks = [1, 2, 3].map(|n| pools.cpu().run(move |_cx| n));
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 6);
        let spawned = pools.clone();
        let task = runtime.spawn(async move { spawned.cpu().run(|_cx| 4).await });
        assert_eq!(runtime.block_on(task).unwrap().unwrap(), 4);
    }
    assert_eq!(pollster::block_on(pools.cpu().run(|_cx| 5)).unwrap(), 5);
}

#[test]
fn mixed_work_runs_on_a_surrounding_runtime_of_either_flavour() {
    for runtime in both_flavours() {
        runtime.block_on(async {
            let pools = Pools::builder()
                .cpu_threads(1)
                .runtime(Handle::current())
                .build()
                .unwrap();
            let id = pools
                .mixed()
                .spawn(async { Handle::current().id() })
                .unwrap()
                .await
                .unwrap();
            assert_eq!(id, Handle::current().id(), "it is this runtime");
            let inner = pools.clone();
            let sum = pools.mixed().spawn(async move {
                let read = inner.mixed().run_blocking(|| 20)?.await?;
                Ok::<_, MixedError>(inner.cpu().run(move |_cx| read + 1).await.unwrap())
            });
            assert_eq!(sum.unwrap().await.unwrap().unwrap(), 21);
            assert!(matches!(
                pools.mixed().block_on(async {}),
                Err(MixedError::InAsync { .. })
            ));
            drop(pools);
        });
    }
}

#[test]
fn pools_with_a_runtime_of_their_own_can_be_used_and_dropped_in_async_code() {
    for runtime in both_flavours() {
        runtime.block_on(async {
            let pools = pools(1);
            let own = pools
                .mixed()
                .spawn(async { Handle::current().id() })
                .unwrap()
                .await
                .unwrap();
            assert_ne!(own, Handle::current().id());
            assert_eq!(pools.cpu().run(|_cx| 1).await.unwrap(), 1);
            drop(pools);
        });
    }
}

#[test]
fn a_shutdown_works_beside_either_flavour() {
    for runtime in both_flavours() {
        let pools = Pools::builder()
            .cpu_threads(1)
            .runtime(runtime.handle().clone())
            .build()
            .unwrap();
        let inner = pools.clone();
        let value = runtime.block_on(async move { inner.cpu().run(|_cx| 1).await.unwrap() });
        assert_eq!(value, 1);
        assert!(pools.shutdown(Duration::from_secs(60)).unwrap().is_clean());
        assert_eq!(runtime.block_on(async { 2 }), 2);
    }
}

#[test]
fn sockets_and_timers_work_in_the_own_runtime_beside_computation() {
    let pools = pools(2);
    let inner = pools.clone();
    let answer = pools.mixed().block_on(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let echo = inner.mixed().spawn(async move {
            let (mut socket, _) = listener.accept().await?;
            let mut bytes = [0; 3];
            socket.read_exact(&mut bytes).await?;
            socket.write_all(&bytes).await
        });
        let mut socket = TcpStream::connect(address).await?;
        tokio::time::sleep(Duration::from_millis(1)).await;
        let question = inner.cpu().run(|_cx| *b"abc").await.map_err(io::Error::other)?;
        socket.write_all(&question).await?;
        let mut answer = [0; 3];
        socket.read_exact(&mut answer).await?;
        echo.map_err(io::Error::other)?
            .await
            .map_err(io::Error::other)??;
        Ok::<_, io::Error>(answer)
    });
    assert_eq!(&answer.unwrap().unwrap(), b"abc");
}
