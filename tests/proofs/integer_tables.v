(* Lemma integer tables of models/mathematics.md, as checkers that are proved: a table that one accepts is private,
   whatever program made it. They compute with integers; the tables of the program are put to them by theorems.sh. *)
From Coq Require Import Reals Lra Lia ZArith List Bool Arith.
From Holdfast Require Import finite_sums stable_randomised_response propose_test_release class_exponential.
Import ListNotations.
Open Scope Z_scope.

(* entry_at of probability_table.hpp *)
Definition entry_at (table : list Z) (h : nat) : Z := nth (Nat.min h (length table - 1)) table 0.

(* A check of every two entries that stand next to each other, read as a statement of all distances. *)
Section Pairs.
Variable good_pair : Z -> Z -> bool.
Fixpoint good_pairs (q : Z) (rest : list Z) : bool :=
  match rest with [] => true | q' :: rest => good_pair q q' && good_pairs q' rest end.
Lemma pairs_at q rest : good_pairs q rest = true -> forall i, (S i < length (q :: rest))%nat ->
  good_pair (nth i (q :: rest) 0) (nth (S i) (q :: rest) 0) = true.
Proof.
  revert q. induction rest as [|q1 rest IH]; intros q G i Hi; simpl in Hi; [lia|].
  simpl in G. apply andb_true_iff in G. destruct G as (A & B). destruct i; [exact A|]. apply (IH q1 B i). simpl. lia.
Qed.
Lemma pairs_of_all q rest : good_pairs q rest = true -> forall h, 
  entry_at (q :: rest) (S h) = entry_at (q :: rest) h \/ good_pair (entry_at (q :: rest) h) (entry_at (q :: rest) (S h)) = true.
Proof.
  intros G. pose proof (pairs_at q rest G) as P.
  intros h. unfold entry_at. set (n := length (q :: rest)) in *.
  destruct (Nat.le_gt_cases (n - 1) h); [left; f_equal; lia|right].
  replace (Nat.min (S h) (n - 1)) with (S (Nat.min h (n - 1))) by lia. apply P. lia.
Qed.
End Pairs.

(* N = 2^128, K = classes - 1, gn/gd <= e^eps, delta = dn/dd *)
Section Checks.
Variables (N K gn gd dn dd : Z).
Definition stays (q : Z) := N - q * K.
(* x - (gn/gd) y <= delta N *)
Definition loss (x y : Z) : bool := dd * (gd * x - gn * y) <=? dn * N * gd.
Definition flip_pair (q q' : Z) : bool :=
  (0 <=? q') && (q' <=? q) && loss (K * q) (K * q') && loss (stays q') (stays q).
Definition terms : bool := (0 <? N) && (1 <=? K) && (0 <? gd) && (gd <=? gn) && (0 <? dd) && (0 <=? dn).
Definition flips (first : Z -> bool) (table : list Z) : bool :=
  match table with [] => false | q :: rest =>
    terms && (0 <=? q) && (q * K <=? N) && (gd * q <=? gn * stays q) && first q && good_pairs flip_pair q rest end.
Definition stable_flips := flips (fun q => loss (stays q) q).
Definition joined_flips := flips (fun q => (dn =? 0) && (stays q <=? q)).
Definition release_pair (r r' : Z) : bool := (r <=? r') && (r' <=? N) && (gd * r' <=? gn * r) && (gd * (N - r) <=? gn * (N - r')).
Definition releases (table : list Z) : bool :=
  match table with [] => false | r :: rest => terms && (0 <=? r) && (r <=? N) && (dd * r <=? dn * N) && good_pairs release_pair r rest end.
(* gn/gd <= e^(eps/2)/(1 + 2^-100), and only that of the terms *)
Definition weight_pair (w w' : Z) : bool := (0 <? w') && (w' <=? w) && (gd * w <=? gn * w').
Definition good_weights (table : list Z) : bool := match table with [] => false | w :: rest => (0 <? gd) && (gd <=? gn) && (0 <? w) && good_pairs weight_pair w rest end.
End Checks.
Open Scope R_scope.

Ltac booleans := rewrite ?andb_true_iff, ?Z.ltb_lt, ?Z.leb_le, ?Z.eqb_eq in *.
Section Meaning.
Variables (N K gn gd dn dd : Z) (eps : R).
Hypothesis T : terms N K gn gd dn dd = true.
Hypothesis Hg : IZR gn / IZR gd <= exp eps.
Let delta := IZR dn / IZR dd.
Lemma meant : 0 < IZR N /\ 1 <= IZR K /\ 0 < IZR gd /\ 0 < IZR dd /\ 0 <= delta /\ 0 < IZR gn.
Proof.
  unfold terms in T. booleans. destruct T as (((((A & B) & C) & D) & E) & F).
  assert (0 < IZR dd) by (apply IZR_lt; assumption). assert (0 <= IZR dn) by (apply IZR_le; assumption).
  repeat split; try (apply IZR_lt; lia); try (apply IZR_le; lia).
  apply Rmult_le_pos; [assumption|left; apply Rinv_0_lt_compat; assumption].
Qed.
Lemma grown x y : 0 <= IZR y -> (gd * x <= gn * y)%Z -> IZR x <= exp eps * IZR y.
Proof.
  intros Y H. destruct meant as (_ & _ & G & _ & _ & _). apply IZR_le in H. rewrite !mult_IZR in H.
  apply Rle_trans with (IZR gn / IZR gd * IZR y); [|apply Rmult_le_compat_r; assumption].
  apply Rmult_le_reg_l with (IZR gd); [assumption|]. replace (IZR gd * (IZR gn / IZR gd * IZR y)) with (IZR gn * IZR y) by (field; lra). exact H.
Qed.
Lemma lost x y : 0 <= IZR y -> loss N gn gd dn dd x y = true -> IZR x - exp eps * IZR y <= delta * IZR N.
Proof.
  intros Y H. destruct meant as (_ & _ & G & D & _ & _). unfold loss in H. booleans. apply IZR_le in H. rewrite !mult_IZR, minus_IZR, !mult_IZR in H.
  assert (IZR gn / IZR gd * IZR y <= exp eps * IZR y) by (apply Rmult_le_compat_r; assumption).
  enough (IZR x - IZR gn / IZR gd * IZR y <= delta * IZR N) by lra.
  apply Rmult_le_reg_l with (IZR dd * IZR gd); [apply Rmult_lt_0_compat; assumption|]. unfold delta.
  replace (IZR dd * IZR gd * (IZR x - IZR gn / IZR gd * IZR y)) with (IZR dd * (IZR gd * IZR x - IZR gn * IZR y)) by (field; lra).
  replace (IZR dd * IZR gd * (IZR dn / IZR dd * IZR N)) with (IZR dn * IZR N * IZR gd) by (field; lra). exact H.
Qed.
End Meaning.

(* What the checker finds of a table, said of all distances. *)
Section Flips.
Variables (C : nat) (N gn gd dn dd : Z) (eps : R) (first : Z -> bool) (table : list Z).
Let K := (Z.of_nat C - 1)%Z.
Let q h := IZR (entry_at table h).
Let delta := IZR dn / IZR dd.
Hypothesis Heps : 0 <= eps.
Hypothesis G : flips N K gn gd dn dd first table = true.
Hypothesis Hg : IZR gn / IZR gd <= exp eps.

Lemma accepted : (2 <= C)%nat /\ 0 < IZR N /\ 0 <= delta /\ terms N K gn gd dn dd = true /\ first (entry_at table 0) = true /\
  IZR N - q 0%nat * INR (C - 1) = IZR (stays N K (entry_at table 0)) /\
  q 0%nat <= exp eps * (IZR N - q 0%nat * INR (C - 1)) /\
  (forall h, 0 <= q h /\ q h * INR (C - 1) <= IZR N) /\ (forall h, q (S h) <= q h) /\
  (forall h, INR (C - 1) * (q h - exp eps * q (S h)) <= delta * IZR N) /\
  (forall h, (IZR N - q (S h) * INR (C - 1)) - exp eps * (IZR N - q h * INR (C - 1)) <= delta * IZR N).
Proof.
  assert (exists q0 rest, table = q0 :: rest) as (q0 & rest & Table) by (destruct table; [discriminate|eauto]).
  unfold flips in G. rewrite Table in G.
  booleans. destruct G as (((((T & Q0) & Q1) & B0) & F) & P).
  pose proof (meant N K gn gd dn dd T) as (RN & RK & Rgd & Rdd & D0 & Rgn). fold delta in D0.
  assert (K1 : (1 <= K)%Z) by (apply le_IZR; exact RK).
  assert (C2 : (2 <= C)%nat) by (unfold K in K1; lia).
  assert (CK : INR (C - 1) = IZR K) by (unfold K; rewrite INR_IZR_INZ; f_equal; lia).
  assert (E0 : entry_at table 0 = q0) by (rewrite Table; reflexivity).
  assert (stay : forall z, IZR N - IZR z * IZR K = IZR (stays N K z)) by (intros; unfold stays; rewrite minus_IZR, mult_IZR; reflexivity).
  pose proof (pairs_of_all (flip_pair N K gn gd dn dd) q0 rest P) as A. rewrite <- Table in A.
  assert (range : forall h, (0 <= entry_at table h /\ entry_at table h * K <= N)%Z).
  { induction h; [rewrite E0; lia|]. destruct IHh as (X & Y). destruct (A h) as [->|B]; [lia|]. unfold flip_pair in B. booleans.
    destruct B as (((B0' & B1) & _) & _). split; [exact B0'|nia]. }
  assert (pos : forall h, 0 <= q h /\ 0 <= IZR (stays N K (entry_at table h))).
  { intros h. destruct (range h). split; apply IZR_le; [assumption|unfold stays; lia]. }
  assert (e1 := exp_ge_1 eps Heps). rewrite CK.
  assert (still : forall x, 0 <= x -> x - exp eps * x <= delta * IZR N). { intros x X. assert (0 <= delta * IZR N) by (apply Rmult_le_pos; lra). nra. }
  repeat match goal with |- _ /\ _ => split end; try assumption; try (rewrite E0; assumption); try apply stay.
  - unfold q. rewrite stay. apply (grown N K gn gd dn dd eps T Hg); [apply pos|]. rewrite E0. exact B0.
  - intros h. split; [apply pos|]. unfold q. rewrite <- mult_IZR. apply IZR_le. apply range.
  - intros h. unfold q. destruct (A h) as [->|B]; [lra|]. unfold flip_pair in B. booleans. apply IZR_le. tauto.
  - intros h. unfold q. destruct (A h) as [->|B].
    + pose proof (still (IZR K * IZR (entry_at table h)) ltac:(apply Rmult_le_pos; [lra|apply pos])). lra.
    + unfold flip_pair in B. booleans. destruct B as ((_ & L) & _).
      apply (lost N K gn gd dn dd eps T Hg) in L; [rewrite !mult_IZR in L; fold delta in L; lra|]. rewrite mult_IZR. apply Rmult_le_pos; [lra|apply pos].
  - intros h. unfold q. rewrite !stay. destruct (A h) as [->|B]; [apply still, pos|]. unfold flip_pair in B. booleans. destruct B as (_ & L).
    apply (lost N K gn gd dn dd eps T Hg) in L; [exact L|apply pos].
Qed.
End Flips.

Definition drawn (C : nat) (N : Z) (table : list Z) := flip C (IZR N) (fun h => IZR (entry_at table h)).
Theorem accepted_flips_are_private : forall C N gn gd dn dd eps table, 0 <= eps ->
  stable_flips N (Z.of_nat C - 1) gn gd dn dd table = true -> IZR gn / IZR gd <= exp eps ->
  forall f h f' h', (f < C)%nat -> (f' < C)%nat -> neighbours f h f' h' ->
  private C eps (IZR dn / IZR dd) (drawn C N table f h) (drawn C N table f' h').
Proof.
  intros C N gn gd dn dd eps table Heps G Hg.
  pose proof (accepted C N gn gd dn dd eps _ table Heps G Hg) as (C2 & RN & D0 & T & F & E & B & range & falls & others & label).
  apply flip_law_is_private; try assumption. rewrite E. apply (lost N _ gn gd dn dd eps T Hg); [apply range|exact F].
Qed.
Theorem accepted_joined_flips_are_private : forall C N gn gd dn dd eps table, 0 <= eps ->
  joined_flips N (Z.of_nat C - 1) gn gd dn dd table = true -> IZR gn / IZR gd <= exp eps ->
  forall f h f' h', (f < C)%nat -> (f' < C)%nat -> joined f h f' h' ->
  private C eps (IZR dn / IZR dd) (drawn C N table f h) (drawn C N table f' h').
Proof.
  intros C N gn gd dn dd eps table Heps G Hg.
  pose proof (accepted C N gn gd dn dd eps _ table Heps G Hg) as (C2 & RN & D0 & T & F & E & B & range & falls & others & label).
  booleans. destruct F as (Z0 & F). apply joined_law_is_private; try assumption.
  - rewrite Z0. unfold Rdiv. ring.
  - rewrite E. apply IZR_le. exact F.
Qed.
Theorem accepted_releases_are_private : forall C N gn gd dn dd eps table, 0 <= eps ->
  releases N (Z.of_nat C - 1) gn gd dn dd table = true -> IZR gn / IZR gd <= exp eps ->
  forall f h f' h', (f < C)%nat -> (f' < C)%nat -> neighbours f h f' h' ->
  let law := proposed C (IZR N) (fun h => IZR (entry_at table h)) in private (S C) eps (IZR dn / IZR dd) (law f h) (law f' h').
Proof.
  intros C N gn gd dn dd eps table Heps G Hg. unfold releases in G. destruct table as [|r0 rest] eqn:Table; [discriminate|]. rewrite <- Table in *.
  booleans. destruct G as ((((T & R0) & R1) & F) & P). pose proof (meant _ _ _ _ _ _ T) as (RN & RK & Rgd & Rdd & D0 & Rgn).
  assert (E0 : entry_at table 0 = r0) by (rewrite Table; reflexivity).
  pose proof (pairs_of_all (release_pair N gn gd) r0 rest P) as A. rewrite <- Table in A.
  assert (range : forall h, (0 <= entry_at table h <= N)%Z).
  { induction h; [rewrite E0; lia|]. destruct (A h) as [->|B]; [lia|]. unfold release_pair in B. booleans. lia. }
  pose proof (exp_ge_1 eps Heps).
  assert (still : forall x, 0 <= x -> x <= exp eps * x) by (intros; nra).
  apply propose_test_release; try assumption.
  - intros h. split; apply IZR_le; apply range.
  - rewrite E0. apply IZR_le in F. rewrite !mult_IZR in F. apply Rmult_le_reg_l with (IZR dd); [assumption|].
    replace (IZR dd * (IZR dn / IZR dd * IZR N)) with (IZR dn * IZR N) by (field; lra). exact F.
  - intros h. destruct (A h) as [->|B]; [lra|]. unfold release_pair in B. booleans. apply IZR_le. tauto.
  - intros h. destruct (A h) as [->|B]; [apply still, IZR_le, range|]. unfold release_pair in B. booleans.
    apply (grown N _ gn gd dn dd eps T Hg); [apply IZR_le, range|tauto].
  - intros h. rewrite <- !minus_IZR. destruct (A h) as [->|B]; [apply still, IZR_le; specialize (range h); lia|]. unfold release_pair in B. booleans.
    apply (grown N _ gn gd dn dd eps T Hg); [apply IZR_le; specialize (range (S h)); lia|tauto].
Qed.
(* r s <= e^half: the slack s pays for a draw that is off by a part t of itself *)
Theorem accepted_weights_are_private : forall C gn gd half s t table, (1 <= C)%nat -> good_weights gn gd table = true ->
  IZR gn / IZR gd * s <= exp half -> 0 < s -> 0 <= t < 1 -> 1 + t <= s * s * (1 - t) ->
  forall d d' j p p', near d d' -> let law := chance C (fun h => IZR (entry_at table h)) in
  Rabs (p - law d j) <= t * law d j -> Rabs (p' - law d' j) <= t * law d' j -> p <= exp (half + half) * p'.
Proof.
  intros C gn gd half s t table HC G Hr Hs Ht slack d d' j p p' Near. cbv zeta.
  assert (exists w0 rest, table = w0 :: rest) as (w0 & rest & Table) by (destruct table; [discriminate|eauto]).
  unfold good_weights in G. rewrite Table in G.
  booleans. destruct G as (((G0 & G1) & W0) & P). apply IZR_lt in G0 as Rgd. apply IZR_le in G1 as Rgn.
  pose proof (pairs_of_all (weight_pair gn gd) w0 rest P) as A. rewrite <- Table in A.
  assert (pos : forall h, (0 < entry_at table h)%Z).
  { induction h; [rewrite Table; exact W0|]. destruct (A h) as [->|B]; [exact IHh|]. unfold weight_pair in B. booleans. tauto. }
  assert (r1 : 1 <= IZR gn / IZR gd) by (apply Rmult_le_reg_r with (IZR gd); [assumption|]; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra).
  apply class_exponential_as_drawn with (IZR gn / IZR gd) s; try assumption.
  - intros h. apply IZR_lt, pos.
  - intros h. destruct (A h) as [->|B]; [lra|]. unfold weight_pair in B. booleans. apply IZR_le. tauto.
  - intros h. destruct (A h) as [->|B].
    + pose proof (IZR_lt _ _ (pos h)). nra.
    + unfold weight_pair in B. booleans. destruct B as (_ & B). apply IZR_le in B. rewrite !mult_IZR in B.
      apply Rmult_le_reg_l with (IZR gd); [assumption|].
      replace (IZR gd * (IZR gn / IZR gd * IZR (entry_at table (S h)))) with (IZR gn * IZR (entry_at table (S h))) by (field; lra). exact B.
  - replace ((half + half) / 2) with half by lra. exact Hr.
Qed.

(* For the tables of the program: each entry behind the first is refused if it is changed by one unit. *)
Definition tight (pair : Z -> Z -> bool) (by_one : Z) (table : list Z) : bool :=
  match table with [] => false | q :: rest => good_pairs (fun q q' => (q' =? 0)%Z || negb (pair q (q' + by_one)%Z)) q rest end.
(* and the first *)
Definition first_changed (by_one : Z) (table : list Z) : list Z := match table with [] => [] | q :: rest => (q + by_one)%Z :: rest end.
Lemma nonnegative n d : ((0 <=? n) && (0 <? d) = true)%Z -> 0 <= IZR n / IZR d.
Proof. booleans. intros (A & B). apply IZR_le in A. apply IZR_lt in B. apply Rmult_le_pos; [exact A|left; apply Rinv_0_lt_compat; exact B]. Qed.

(* ---- Examples, and what a checker must refuse: entries one unit off ---- *)
Example accepted_flips_are_private_example : stable_flips 12 1 2 1 0 1 [4; 2; 1; 1]%Z = true.
Proof. reflexivity. Qed.
Example accepted_joined_flips_are_private_example : joined_flips 12 1 2 1 0 1 [6; 3; 2; 1]%Z = true.
Proof. reflexivity. Qed.
Example accepted_releases_are_private_example : releases 12 1 2 1 1 12 [1; 2; 4; 8; 10; 11]%Z = true.
Proof. reflexivity. Qed.
Example accepted_weights_are_private_example : good_weights 2 1 [8; 4; 2; 1]%Z = true.
Proof. reflexivity. Qed.
Fact accepted_flips_are_private_mutant : forallb (fun t => negb (stable_flips 12 1 2 1 0 1 t)) [[3; 2; 1]; [4; 1; 1]; [4; 5; 3]; []]%Z = true.
Proof. reflexivity. Qed.
Fact accepted_joined_flips_are_private_mutant : forallb (fun t => negb (joined_flips 12 1 2 1 0 1 t)) [[5; 3]; [6; 2]; [4; 2]]%Z = true.
Proof. reflexivity. Qed.
Fact accepted_releases_are_private_mutant : forallb (fun t => negb (releases 12 1 2 1 1 12 t)) [[2; 4]; [1; 3]; [1; 2; 4; 8; 11]; [1; 0]]%Z = true.
Proof. reflexivity. Qed.
Fact accepted_weights_are_private_mutant : forallb (fun t => negb (good_weights 2 1 t)) [[8; 3]; [8; 9]; [1; 0]]%Z = true.
Proof. reflexivity. Qed.
